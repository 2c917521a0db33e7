// Look at charts in a real browser: `node charts.mjs NODE_MODULES CHROMIUM PAGE`. Prints one JSON list of what is wrong:
// text that is another size on a telephone, lies outside the screen or what can be moved into it, or covers other text.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, browserPath, file] = process.argv.slice(2);
const { chromium } = createRequire(modules + "/")("playwright-core");
const problems = [];
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
const sizes = {};

for (const width of [1280, 390]) {
  const page = await (await browser.newContext({ viewport: { width, height: 900 } })).newPage();
  await page.goto(pathToFileURL(file).href);
  const charts = await page.$$eval(".wb-chart", (figures) => figures.map((figure) =>
    [...figure.querySelectorAll("svg text")].filter((text) => text.getClientRects().length).map((text) => {
      const { left, right, top, bottom } = text.getBoundingClientRect();
      const sheet = text.closest(".wb-sheet");
      const edge = sheet ? sheet.getBoundingClientRect().left + sheet.scrollWidth : innerWidth;
      const turned = /rotate/.test(text.getAttribute("transform"));  // lies in parallel to its like
      return { edge, turned, said: text.textContent, size: getComputedStyle(text).fontSize, left, right, top: top + 3, bottom: bottom - 3 };
    })));
  charts.forEach((texts, i) => {
    const told = (what) => problems.push(`chart ${i + 1} at ${width} px: ${what}`);
    for (const text of texts) {
      if (text.left < 0 || text.right > text.edge) told(`"${text.said}" lies outside, from ${text.left} to ${text.right}`);
      const key = `${i} ${text.said}`;
      sizes[key] ??= text.size;
      if (sizes[key] !== text.size) told(`"${text.said}" is ${text.size} and not ${sizes[key]}`);
    }
    texts.forEach((a, k) => texts.slice(k + 1).forEach((b) => {
      if (!(a.turned && b.turned) && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
        told(`"${a.said}" and "${b.said}" cover one another`);
    }));
    if (texts.length < 4) told(`only ${texts.length} texts`);
  });
  if (!charts.length) problems.push("no chart");
}
await browser.close();
console.log(JSON.stringify(problems));
