// A page printed from the browser: `look(tools, URL, PAGES)` is called by browser.mjs with how many sheets of A4 each takes.
import { opener } from "./page.mjs";

export default async function look(tools, base, pages) {
  const problems = [], open = opener(await tools.browser(), base, problems);
  for (const [path, sheets] of Object.entries(pages)) {
    const { context, page, same } = await open(path);
    const made = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
    const sizes = [...made.matchAll(/\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/g)].map((box) => `${Math.round(box[1])} × ${Math.round(box[2])}`);
    same("sheets", sizes, Array(sheets).fill("595 × 842"));
    await context.close();
  }
  return problems;
}
