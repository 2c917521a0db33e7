// Listings of a small site: `look(tools, URL, {path, lab, file, section, first, last})` is called by browser.mjs with the address of
// its article and of its program's page, and with the listing: its file, its section, and the lines that it has of the file.
import { once, opener } from "./page.mjs";

let base, listing, open;

async function copied(page, listing) {
  await page.locator(listing).first().scrollIntoViewIfNeeded(); // its buttons are made when it comes into view
  await page.evaluate(() => navigator.clipboard.writeText("nothing yet"));
  await page.locator(`${listing} .md-code__button`).first().click();
  return page.evaluate(async () => {
    let text = "nothing yet";
    for (let i = 0; i < 500 && text === "nothing yet"; i++) {
      await new Promise((done) => setTimeout(done, 20));
      text = await navigator.clipboard.readText();
    }
    return text;
  });
}

const shown = () => `.highlight:has([id="${listing.file}:${listing.section}"])`;
const line = (n, m) => `#${listing.file}-L${listing.first + n}${m ? `-L${listing.first + m}` : ""}`; // counted from the listing's first, 0

async function copying(path) {
  const { context, page, same } = await open(path);
  const source = await (await fetch(base + listing.lab)).text();
  const text = await copied(page, shown());
  same("the kernel that is copied, notes and numbers left out", textOf(source, listing.file).includes(text) && text.split("\n").length, listing.last - listing.first + 1);
  same("a console's commands", await copied(page, ".language-console"), "make serve\nmake test");
  await context.close();
}

// The text of one file of a lab page, without a browser.
function textOf(html, id) {
  const code = html.split(new RegExp(`<code[^>]* id="?${id}"?>`))[1].split("</code>")[0].replace(/<[^>]+>/g, "");
  return code.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}

const marked = (page) => page.evaluate(() => {
  const mark = document.querySelector(".wb-marked")?.getBoundingClientRect();
  const code = mark && document.querySelector(".wb-marked").parentElement.querySelector("code");
  const height = code && parseFloat(getComputedStyle(code).lineHeight), first = code?.getBoundingClientRect().top + parseFloat(getComputedStyle(code).paddingTop);
  return mark && { rows: [(mark.top - first) / height, mark.height / height].map(Math.round), seen: mark.top > 0 && mark.bottom < innerHeight };
});

async function linking(path) {
  const { context, page, same } = await open(path + line(3, 6));
  same("lines of the address", await once(() => marked(page), { rows: [3, 4], seen: true }), { rows: [3, 4], seen: true });
  const gutter = page.locator(`${shown()} .wb-gutter`);
  const height = await gutter.evaluate((one) => parseFloat(getComputedStyle(one).lineHeight));
  const top = await gutter.evaluate((one) => parseFloat(getComputedStyle(one).paddingTop));
  const click = (row, modifiers = []) => gutter.click({ position: { x: 10, y: top + (row + 0.5) * height }, modifiers });
  const address = () => new URL(page.url()).hash;
  await click(0);
  same("the address of a line", await once(address, line(0)), line(0));
  await click(2, ["Shift"]);
  same("the address of three", await once(address, line(0, 2)), line(0, 2));
  same("three lines", await once(async () => (await marked(page))?.rows, [0, 3]), [0, 3]);
  await gutter.focus();
  for (const key of ["Home", "ArrowDown", "ArrowDown", "ArrowUp", "Enter"]) await page.keyboard.press(key);
  same("the address of a line, by keys", await once(address, line(1)), line(1));
  for (const key of ["ArrowDown", "ArrowDown", "Shift+Enter"]) await page.keyboard.press(key);
  same("the address of three, by keys", await once(address, line(1, 3)), line(1, 3));
  same("what is heard", await gutter.evaluate((one, number) => {
    const { role, ariaLabel, ariaSelected } = document.getElementById(one.getAttribute("aria-activedescendant"));
    return [one.role, role, new RegExp(`${number}.*\\w`).test(ariaLabel), ariaSelected];
  }, listing.first + 3), ["listbox", "option", true, "true"]);
  same("stops of a listing", await page.$$eval(".highlight", (all) => Math.max(...all.map((one) => one.querySelectorAll("[tabindex='0'], .wb-gutter *[tabindex]").length))), 2);
  await page.click(`${shown()} .filename a`);
  await page.waitForURL((url) => url.pathname.endsWith(listing.lab) && url.hash === line(0));
  await page.waitForSelector(".wb-marked");
  same("the line in its file", await once(async () => (await marked(page))?.seen, true), true);
  await context.close();
}

async function withoutScript() {
  const { context, page, same } = await open(listing.lab + line(3), { javaScriptEnabled: false });
  const target = () => page.$eval(":target", (line) => {
    const { top } = line.getBoundingClientRect();
    return [`#${line.id}`, top > 0 && top < innerHeight, getComputedStyle(line, "::before").position];
  });
  for (let i = 0; i < 200 && !(await target())[1]; i++) await page.waitForTimeout(100); // the browser goes there when it has drawn
  same("a line without a script", await target(), [line(3), true, "absolute"]);
  await context.close();
}

async function besides(article) {
  const left = (page, selector) => page.$$eval(selector, (found) => found.slice(0, 2).map((one) => Math.round(one.getBoundingClientRect().left)));
  for (const [path, selector, from] of [[article, ".wb-pair > div", 1900], [listing.lab, ".wb-lab > *", 1600]]) {
    for (const width of [from, 1280, 390]) {
      const { context, page, same } = await open(path, { width });
      const [first, second] = await left(page, selector);
      same("a kernel beside its program", second > first, width >= from);
      same("page", await page.evaluate(() => document.documentElement.scrollWidth), width);
      await context.close();
    }
  }
}

async function outputs(path) {
  const { page, context, same } = await open(path);
  const fold = page.locator(".wb-output__fold").first(), long = page.locator(".wb-output__text:has(+ .wb-output__fold)").first();
  const lines = (text) => text.evaluate((one) => Math.round(one.clientHeight / parseFloat(getComputedStyle(one).lineHeight)));
  const all = Number(/\d+/.exec(await fold.textContent())[0]);
  same("a folded output", [all > 15, await lines(long)], [true, 12]);
  await fold.locator("summary").focus();
  await page.keyboard.press("Enter");
  same("all of it", await once(() => long.evaluate((one) => one.scrollHeight - one.clientHeight), 0), 0);
  same("its lines", [0, 1].includes(await lines(long) - all), true);
  const top = () => fold.evaluate((one) => Math.round(one.getBoundingClientRect().top)), before = await top();
  await page.keyboard.press("Enter");
  const again = async () => [await lines(long), Math.abs(await top() - before) < 3];
  same("folded again, and nothing has moved under the hand", await once(again, [12, true]), [12, true]);
  await context.close();
}

export default async function look(tools, url, given) {
  const problems = [];
  [base, listing, open] = [url, given, opener(await tools.browser(), url, problems)];
  for (const place of ["", "zh/"]) {
    await copying(place + listing.path);
    await linking(place + listing.path);
    await outputs(place + listing.lab);
  }
  await withoutScript();
  await besides(listing.path);
  return problems;
}
