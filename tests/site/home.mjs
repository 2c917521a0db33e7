// Home shows in one screen what is different here and where to start, in both languages, and its citation can be copied:
// `look(tools, URL)` is called by browser.mjs.
const PARTS = [".wb-lines--open", ".wb-home__chart .wb-chart > svg", ".wb-path:last-child", ".wb-tracks li:last-child a"];

export default async function look(tools, base) {
  const browser = await tools.browser(), problems = [];
  for (const path of ["", "zh/"]) {
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
    const told = (what) => problems.push({ page: path, scheme: "light", what });
    await page.goto(base + path);
    await page.evaluate(() => document.fonts.ready);
    for (const part of PARTS) {
      const bottom = await page.evaluate((one) => document.querySelector(one)?.getBoundingClientRect().bottom, part);
      if (!(bottom <= page.viewportSize().height)) told(`${part} ends at ${bottom}, below the first screen`);
    }
    await page.click(".wb-cite summary");
    await page.locator(".wb-cite pre").last().scrollIntoViewIfNeeded(); // its button is made when it comes into view
    await page.waitForSelector(".wb-cite .md-code__button, .wb-cite .md-clipboard", { timeout: 30000 }).catch(() => told("a citation cannot be copied"));
    await page.context().close();
  }

  // On a phone: the claim, the four paths and the first numbers before one scrolls; the book's name is whole, on one line.
  for (const path of ["", "zh/"])
    for (const width of [390, 320]) {
      const page = await (await browser.newContext({ viewport: { width, height: 844 } })).newPage();
      const told = (what) => problems.push({ page: path, scheme: "light", what: `at ${width} px: ${what}` });
      await page.goto(base + path);
      await page.evaluate(() => document.fonts.ready);
      const seen = await page.evaluate(() => {
        const box = (one) => document.querySelector(one).getBoundingClientRect(), title = document.querySelector(".md-header__topic .md-ellipsis");
        return {
          cut: title.scrollWidth > title.clientWidth, lines: title.getBoundingClientRect().height / parseFloat(getComputedStyle(title).lineHeight),
          order: [".wb-home__says", ".wb-path:first-child", ".wb-path:last-child", ".wb-lines--open", ".wb-home__note", ".wb-home__chart"].map((one) => box(one).top),
          numbers: box(".wb-lines--open tbody tr:nth-child(2)").bottom, screen: innerHeight,
        };
      });
      if (seen.cut) told("the book's name is cut");
      if (Math.round(seen.lines) !== 1) told(`the book's name takes ${seen.lines} lines`);
      if (seen.order.some((top, i) => top < seen.order[i - 1])) told(`parts do not follow in their order: ${seen.order}`);
      if (width === 390 && seen.numbers > seen.screen) told(`two lines of numbers end at ${seen.numbers}, below the first screen of ${seen.screen}`);
      await page.context().close();
    }
  return problems;
}
