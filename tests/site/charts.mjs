// Text of charts that is another size on a telephone, lies outside the screen or what can be moved into it, or covers other text:
// `look(tools, URL)` is called by browser.mjs.
import { laidOut } from "./page.mjs";

export default async function look(tools, address) {
  const browser = await tools.browser(), problems = [], sizes = {};
  for (const width of [1280, 390]) {
    const page = await (await browser.newContext({ viewport: { width, height: 900 } })).newPage();
    await page.goto(address);
    await laidOut(page);
    const charts = await page.$$eval(".wb-chart", (figures) => figures.map((figure) =>
      [...figure.querySelectorAll("svg text")].filter((text) => text.getClientRects().length).map((text) => {
        const { left, right, top, bottom } = text.getBoundingClientRect();
        const sheet = text.closest(".wb-sheet");
        const edge = sheet ? sheet.getBoundingClientRect().left + sheet.scrollWidth : innerWidth;
        const turned = /rotate/.test(text.getAttribute("transform"));  // lies in parallel to its like
        return { edge, turned, said: text.textContent, size: getComputedStyle(text).fontSize, left, right, top: top + 3, bottom: bottom - 3 };
      })));
    charts.forEach((texts, i) => {
      const told = (what) => problems.push({ page: "charts", scheme: `${width} px`, what: `chart ${i + 1}: ${what}` });
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
    if (!charts.length) problems.push({ page: "charts", scheme: `${width} px`, what: "no chart" });
  }
  return problems;
}
