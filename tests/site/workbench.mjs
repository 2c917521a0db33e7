// The workbench of a small book: `look(tools, URL, {exercise, path, solution, slow, slowLine, endless, broken})` is called by
// browser.mjs with the address of a preview.
import { opener } from "./page.mjs";

let base, given, open, axe;
const box = (page, selector) => page.locator(`[data-exercise] ${selector}`);
const press = (page, name) => box(page, ".wb-bench__bar").getByRole("button", { name, exact: true }).click();
const idle = (page) => box(page, '.wb-bench[aria-busy="false"]').waitFor();
const words = { "": { judge: "Judge", run: "Run", stop: "Stop", write: "Write your answer here", edit: /Edit and run/, kinds: ["slow", "right"] },
  "zh/": { judge: "判题", run: "运行", stop: "停止", write: "在这里作答", edit: /编辑并运行/, kinds: ["太慢", "正确"] } };

async function type(page, text) {
  await box(page, ".cm-content").focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

async function judged(page, text, name) {
  await type(page, text);
  await press(page, name);
  await box(page, ".wb-bench__status .wb-bench__word").waitFor();
  await idle(page);
  return box(page, ".wb-bench__word").textContent();
}

const begin = async (page, place) => {
  await page.getByRole("button", { name: words[place].write }).click();
  await box(page, ".cm-content").waitFor({ timeout: 90000 }); // made for the first time, on a busy machine
};

const sound = async (page, same, what) => {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"], selectors: false }));
  same(`axe, ${what}`, violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 120)} ${nodes[0].failureSummary?.split("\n")[1] ?? ""}`), []);
};

async function solving(place, scheme) {
  const { context, page, same } = await open(place + given.path, { colorScheme: scheme });
  const { judge, run, stop, kinds } = words[place];
  same("scripts before anything is edited", await page.evaluate(() => performance.getEntriesByName(`${location.origin}/_workbench/editor.js`).length), 0);
  await begin(page, place);
  same("the editor has the focus", await box(page, ".cm-content").evaluate((one) => one === document.activeElement), true);
  same("verdict", await judged(page, given.slow, judge), kinds[0]);
  const at = (selector) => box(page, selector).first();
  same("the line that is marked", await at(".cm-lineNumbers .wb-bench__at").textContent(), String(given.slowLine));
  same("the sentence is below that line", await at(".wb-bench__place").evaluate((one) => one.previousElementSibling.className.includes("wb-bench__line")), true);
  same("sectors beside the line", (await box(page, ".wb-bench__counters").textContent()).includes("32.0"), true);
  same("a list is read out", await at(".wb-bench__status").evaluate((one) => one.role), "status");
  same("it links to a section", await at(".wb-bench__status a").getAttribute("href"), `/${place}${given.path}#stride`);
  await at(".wb-bench__button--line").click();
  same("line counters", (await box(page, ".wb-bench__table--lines").locator("tbody tr").count()) > 3, true);
  await box(page, ".wb-bench__found summary").last().click();
  await sound(page, same, `a verdict, ${scheme}`);

  same("an error of the compiler", [await judged(page, given.broken, judge), /nothing/.test(await at(".wb-bench__note").textContent())], [place ? "编译错误" : "error", true]);

  await type(page, given.endless);
  let seconds = Infinity;
  for (let i = 0; i < 3 && seconds > 1; i++) { // where other work has the processors, a second passes without any of this
    await press(page, judge);
    await box(page, '.wb-bench[aria-busy="true"]').waitFor();
    await page.waitForTimeout(300); // it may be anywhere in its work
    const start = Date.now();
    await press(page, stop);
    await idle(page);
    seconds = Math.min(seconds, (Date.now() - start) / 1000);
  }
  same("stopped within a second", seconds < 1, true);
  same("it says so", await at(".wb-bench__word").textContent(), place ? "已停止" : "stopped");

  await type(page, given.solution);
  await press(page, run);
  await box(page, ".wb-bench__table").first().waitFor();
  same("outputs of a run", /y\[0\]/.test(await box(page, ".wb-bench__table").first().textContent()), true);

  if (!place) same("not done yet", await box(page, ".wb-exercise__done").isVisible(), false);
  same("verdict", await judged(page, given.solution, judge), kinds[1]);
  same("done", await box(page, ".wb-exercise__done").isVisible(), true);
  await sound(page, same, `done, ${scheme}`);
  await page.reload();
  await box(page, ".wb-exercise__done").waitFor();
  await begin(page, place);
  same("the answer is there again", await box(page, ".cm-line").allTextContents(), given.solution.split("\n"));
  await context.close();
}

async function byKeys() {
  const { context, page, same } = await open(given.path);
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  const start = page.getByRole("button", { name: words[""].write });
  await start.focus();
  await page.keyboard.press("Enter");
  await box(page, ".cm-content").waitFor({ timeout: 90000 }); // made for the first time, on a busy machine
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(given.slow);
  await page.keyboard.press("Control+Enter");
  await box(page, ".wb-bench__status .wb-bench__word").waitFor();
  await idle(page);
  same("the focus stays in the editor", await page.evaluate(() => document.activeElement.className.includes("cm-content")), true);
  await page.keyboard.press("Escape");
  same("Escape leaves the editor", await focused(), "Judge");
  await page.keyboard.press("Tab");
  same("after Judge", await focused(), "Run");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await box(page, '.wb-bench[aria-busy="true"]').waitFor({ timeout: 5000 }).catch(() => {});
  await idle(page);
  same("the focus comes back", await focused(), "Judge");
  for (let i = 0; i < 3; i++) await page.keyboard.press("Tab"); // Run, Reset, the first message
  same("the message's line", await focused(), `line ${given.slowLine}`);
  await page.keyboard.press("Enter");
  same("it leads into the editor", await page.evaluate(() => document.activeElement.className.includes("cm-content")), true);
  const saved = page.waitForResponse((one) => one.url().endsWith("/save") && JSON.parse(one.request().postData()).source === given.solution);
  await type(page, given.solution); // the test looks at what is saved
  await saved;
  await context.close();
}

async function hints(place) {
  const { context, page, same } = await open(place + given.path);
  const shown = () => box(page, "details:visible").count();
  await box(page, ".wb-bench__bar--start").waitFor();
  for (let i = 0; i < 3; i++) {
    same("hints in sight", await shown(), i + 1);
    await box(page, "details.question").nth(i).locator("summary").click();
    await box(page, "details").nth(i + 1).waitFor();
  }
  const code = box(page, "details.success .highlight"), solution = box(page, "details.success");
  await solution.locator("summary").click();
  same("the solution asks first", [await code.isVisible(), await solution.getByRole("button").count()], [false, 2]);
  await solution.getByRole("button").first().click();
  same("the solution", await code.isVisible(), true);
  await context.close();
}

async function changedElsewhere() {
  const { context, page, same } = await open(given.path), other = await open(given.path);
  await begin(page, "");
  await begin(other.page, "");
  await type(other.page, "// theirs");
  await box(other.page, ".wb-bench__saved").filter({ hasText: "Saved" }).waitFor();
  await type(page, "// mine");
  await page.getByRole("button", { name: "Take the file's version" }).click();
  same("the file's version", await box(page, ".cm-line").allTextContents(), ["// theirs"]);
  await context.close();
  await other.context.close();
}

async function program(place) {
  const { context, page, same } = await open(place + given.path);
  await page.getByRole("button", { name: words[place].edit }).first().click();
  const bench = page.locator(".wb-bench").first();
  await bench.locator(".cm-content").waitFor();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText('extern "C" __global__ void twice(float* x, int n) { x[threadIdx.x] = 9; }');
  await page.keyboard.press("Control+Enter");
  await bench.locator(".wb-bench__found pre").waitFor();
  same("what the program prints", await bench.locator(".wb-bench__found pre").textContent(), "x[3] is 9.0\n");
  await sound(page, same, "a program");
  await context.close();
}

async function phone(place) {
  const { context, page, same } = await open(place + given.path, { width: 390 });
  await begin(page, place);
  await judged(page, given.slow, words[place].judge);
  same("page", await page.evaluate(() => document.documentElement.scrollWidth), 390);
  same("buttons are large enough", await box(page, ".wb-bench__bar button").evaluateAll((all) => all.every((one) => one.offsetHeight >= 40)), true);
  same("the sentence fits", await box(page, ".wb-bench__note").first().evaluate((one) => one.getBoundingClientRect().right <= 390), true);
  await context.close();
}

async function withoutScript() {
  const { context, page, same } = await open(given.path, { javaScriptEnabled: false });
  same("without a script", [await box(page, "details").count(), await box(page, "button").count(), await box(page, ".language-cuda").first().isVisible()], [4, 0, true]);
  await context.close();
}

export default async function look(tools, url, wanted) {
  const problems = [];
  [base, given, axe] = [url, wanted, tools.axe];
  open = opener(await tools.browser(), url, problems);
  await solving("", "light");
  await solving("zh/", "dark");
  for (const place of ["", "zh/"]) {
    await hints(place);
    await phone(place);
    await program(place);
  }
  await changedElsewhere();
  await byKeys();
  await withoutScript();
  return problems;
}
