// The list of exercises keeps what its reader ticks, for both languages; without scripts it has no such column.
// `look(tools, URL)` is called by browser.mjs.
import { ready } from "./page.mjs";

export default async function look(tools, base) {
  const browser = await tools.browser(), problems = [], context = await browser.newContext();
  const open = async (path, by = context) => {
    const page = await by.newPage();
    page.on("pageerror", (error) => problems.push({ page: path, scheme: "light", what: error.message }));
    await page.goto(base + path);
    if (by !== without) await ready(page);
    return page;
  };
  const without = await browser.newContext({ javaScriptEnabled: false });
  const same = (path, what, got, want) => {
    if (JSON.stringify(got) !== JSON.stringify(want)) problems.push({ page: path, scheme: "light", what: `${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}` });
  };
  const ticked = (page) => page.$$eval(".wb-done", (all) => all.filter((one) => one.querySelector("input").checked).map((one) => one.dataset.done));

  const page = await open("exercises/");
  same("exercises/", "ticked at first", await ticked(page), []);
  const box = page.locator(".wb-done input").nth(1), name = await page.locator(".wb-done").nth(1).getAttribute("data-done");
  await box.focus();
  await page.keyboard.press("Space");
  same("exercises/", "ticked with a key", await ticked(page), [name]);
  const other = await open("zh/exercises/");
  same("zh/exercises/", "ticked in the other language", await ticked(other), [name]);
  await other.locator(".wb-done input").nth(1).uncheck();
  await page.waitForFunction(() => !document.querySelector(".wb-done input:checked"), null, { timeout: 30000 }).catch(() => same("exercises/", "still ticked", true, false));

  // A link leads to the exercise itself, whose solution is folded.
  await page.locator(".wb-exercises tbody tr").nth(1).locator("a").nth(1).click();
  await page.waitForSelector(`[data-exercise="${name}"] h3:target`, { timeout: 30000 }).catch(() => same(page.url(), "leads to the exercise", false, true));
  same(page.url(), "an open solution", await page.locator(".wb-solution[open]").count(), 0);

  same("exercises/", "a column without a use", await (await open("exercises/", without)).locator(".wb-exercises th").last().isVisible(), false);

  const phone = await browser.newContext({ viewport: { width: 390, height: 844 } });
  for (const path of ["exercises/", "zh/exercises/"]) {
    const small = await open(path, phone);
    same(path, "wider than a phone", await small.evaluate(() => document.querySelector(".wb-exercises table").scrollWidth > document.querySelector(".wb-exercises").clientWidth), false);
  }
  return problems;
}
