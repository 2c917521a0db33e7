// An exercise whose answer is a Triton kernel: `look(tools, URL, {path, solution, wrong, line, lacking})` is called by browser.mjs
// with the address of a preview.
import { opener } from "./page.mjs";

const words = { "": { judge: "Judge", write: "Write your answer here", kinds: ["wrong", "right"] }, "zh/": { judge: "判题", write: "在这里作答", kinds: ["错误", "正确"] } };

export default async function look(tools, url, given) {
  const problems = [];
  const open = opener(await tools.browser(), url, problems);
  for (const place of ["", "zh/"]) {
    const { context, page, same } = await open(place + given.path);
    const { judge, write, kinds } = words[place];
    const box = (selector) => page.locator(`[data-exercise] ${selector}`);
    same("the stub is Python", await box(".language-python").first().isVisible(), true);
    await page.getByRole("button", { name: write }).click();
    if (given.lacking) {
      same("what to do without Triton", /make setup-torch/.test(await box('[role="alert"]').textContent()), true);
      await context.close();
      continue;
    }
    await box(".cm-content").waitFor({ timeout: 90000 });
    const type = async (text) => {
      await box(".cm-content").focus();
      await page.keyboard.press("Control+a");
      await page.keyboard.insertText(text);
    };
    const judged = async (text) => {
      await type(text);
      await box(".wb-bench__bar").getByRole("button", { name: judge, exact: true }).click();
      await box(".wb-bench__status .wb-bench__word").waitFor({ timeout: 90000 });
      await box('.wb-bench[aria-busy="false"]').waitFor();
      return box(".wb-bench__word").textContent();
    };

    await type("def f(x):");
    await page.keyboard.press("Enter");
    await page.keyboard.type("if x:  # a comment\nreturn 'a' + \"\"\"b", { delay: 5 });
    const lines = await box(".cm-line").allTextContents();
    same("a line after a colon is indented", lines, ["def f(x):", "    if x:  # a comment", "        return 'a' + \"\"\"b"]);
    const colour = (text) => box(".cm-line span").filter({ hasText: text }).first().evaluate((one) => getComputedStyle(one).color);
    const [keyword, comment, string, plain] = [await colour(/^def$/), await colour(/^# a comment$/), await colour(/^'a'$/), await box(".cm-content").evaluate((one) => getComputedStyle(one).color)];
    same("keywords, comments and strings have colours of their own", new Set([keyword, comment, string, plain]).size, 4);

    same("a wrong answer", await judged(given.wrong), kinds[0]);
    same("the line that is marked", await box(".cm-lineNumbers .wb-bench__at").first().textContent(), String(given.line));
    same("it links to a section", await box(".wb-bench__status a").first().getAttribute("href"), `/${place}${given.path}#masks`);
    same("a right one", await judged(given.solution), kinds[1]);
    same("line counters", (await box(".wb-bench__table--lines").locator("tbody tr").count()) > 2, true);
    await context.close();
  }
  return problems;
}
