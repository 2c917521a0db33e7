// Notes on listings and tips: `look(tools, URL, PATHS)` is called by browser.mjs with pages that have both.
import { once, opener } from "./page.mjs";

let open;

async function notes(path) {
  const { context, page, same } = await open(path, { width: 390 });
  const wrong = await page.$$eval(".wb-note", (marks) => marks.filter((mark) => !document.getElementById(decodeURIComponent(mark.hash.slice(1)))).length);
  same("notes that lead nowhere", wrong, 0);
  same("marks out of sight", await page.$$eval(".wb-note", (marks) => marks.filter((mark) => mark.getBoundingClientRect().right > innerWidth).length), 0);
  same("a page with notes", await page.$$eval(".wb-note", (marks) => marks.length) > 0, true);
  await context.close();
}

const TIPS = "article :is(.wb-value a, .wb-quoted a, a.wb-term)";

async function tips(path) {
  const { context, page, same } = await open(path, { width: 390, hasTouch: true, isMobile: true });
  const outside = await page.$$eval(TIPS, (links) => links.filter((link) => link.checkVisibility()).map((link) => {
    link.scrollIntoView({ block: "center" });
    link.classList.add("wb-open");
    link.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    const tip = getComputedStyle(link, "::after"), from = tip.position === "fixed" ? 0 : link.getClientRects()[0].left;
    const left = from + parseFloat(tip.left), right = left + parseFloat(tip.width);
    link.classList.remove("wb-open");
    return left >= 0 && right <= 390 ? "" : link.textContent;
  }).filter(Boolean));
  same("tips beyond the screen", outside, []);
  const term = page.locator("article p a.wb-term").first(), shown = (link) => link.evaluate((one) => getComputedStyle(one, "::after").content !== "none");
  const here = page.url();
  await term.tap();
  same("the first tap opens and stays", [await once(() => shown(term), true), page.url()], [true, here]);
  await term.tap();
  await page.waitForURL(/glossary\/#/);
  await context.close();

  const desk = await open(path), link = desk.page.locator("article p a.wb-term").first();
  await link.scrollIntoViewIfNeeded();
  const box = await link.boundingBox();
  await desk.page.mouse.move(box.x + 4, box.y + 5);
  desk.same("under the pointer", await once(() => shown(link), true), true);
  await desk.page.mouse.move(box.x + 12, box.y + box.height + 14, { steps: 6 });
  desk.same("with the pointer over the tip", await once(() => shown(link), true), true);
  await desk.page.keyboard.press("Escape");
  desk.same("after Escape", await once(() => shown(link), false), false);
  await desk.context.close();
}

async function still(path) {
  const { context, page, same } = await open(path, { reducedMotion: "reduce" });
  same("what moves", await page.$$eval("body *", (all) => all.filter((one) => {
    const { animationName, animationDuration, transitionDuration } = getComputedStyle(one);
    return (animationName !== "none" && parseFloat(animationDuration) > 0.001) || transitionDuration.split(",").some((time) => parseFloat(time) > 0.001) && getComputedStyle(one).transitionProperty !== "none";
  }).map((one) => one.className).slice(0, 3)), []);
  await context.close();
}

export default async function look(tools, url, paths) {
  const problems = [];
  open = opener(await tools.browser(), url, problems);
  for (const path of paths) {
    await notes(path);
    await tips(path);
    await still(path);
  }
  return problems;
}
