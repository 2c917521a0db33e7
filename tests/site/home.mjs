// Home shows in one screen what is different here and where to start, in both languages, and its citation can be copied:
// `look(tools, URL)` is called by browser.mjs.
const PARTS = [".wb-lines--open", ".wb-home__chart .wb-chart > svg", ".wb-path:last-child", ".wb-tracks li:last-child a"];

export default async function look(tools, base) {
  const browser = await tools.browser(), problems = [];
  for (const path of ["", "zh/"]) {
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
    const told = (what) => problems.push({ page: path, scheme: "light", what });
    await page.goto(base + path);
    for (const part of PARTS) {
      const bottom = await page.evaluate((one) => document.querySelector(one)?.getBoundingClientRect().bottom, part);
      if (!(bottom <= 800)) told(`${part} ends at ${bottom}, below the first screen`);
    }
    await page.click(".wb-cite summary");
    await page.locator(".wb-cite pre").last().scrollIntoViewIfNeeded(); // its button is made when it comes into view
    await page.waitForSelector(".wb-cite .md-code__button, .wb-cite .md-clipboard", { timeout: 5000 }).catch(() => told("a citation cannot be copied"));
    await page.context().close();
  }
  return problems;
}
