// A small book with records of an H200, an H100 and softcuda: which one is shown, and the ledger's sorting.
// `look(tools, URL)` is called by browser.mjs.
import { ready } from "./page.mjs";

let axe, base, browser, problems;

async function open(path, { scheme = "light", width = 1280, script = true, context } = {}) {
  context ??= await browser.newContext({ colorScheme: scheme, javaScriptEnabled: script });
  const page = await context.newPage();
  await page.setViewportSize({ width, height: 900 });
  const same = (what, got, want) => {
    if (JSON.stringify(got) !== JSON.stringify(want))
      problems.push({ page: path, scheme, what: `${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}` });
  };
  page.on("pageerror", (error) => same("script", error.message, ""));
  await page.goto(base + path);
  if (script) await ready(page);
  return { context, page, same };
}

const texts = (page, selector) => page.$$eval(selector, (found) => found.map((one) => one.innerText.trim()));
const column = (page, i) => texts(page, `.wb-ledger > .wb-claims tbody tr:not([hidden]) td:nth-child(${i})`);
const shown = (page) =>
  page.evaluate(() => ({
    numbers: [...document.querySelectorAll("article p .wb-value a")].map((link) => link.textContent),
    tips: [...document.querySelectorAll("article p .wb-value a")].map((link) => link.dataset.tip.split("\n").at(-1)),
    outputs: [...document.querySelectorAll(".wb-output pre:not([hidden])")].map((pre) => pre.innerText.trim()),
    chart: [...document.querySelectorAll(".wb-chart figcaption")].filter((c) => c.checkVisibility()).map((c) => c.innerText.includes("H100")),
    pressed: [...document.querySelectorAll("[aria-pressed=true]")].map((button) => button.innerText),
  }));

async function choosing() {
  const { context, page, same } = await open("x/");
  const first = await shown(page);
  same("numbers at first", first.numbers, ["4.00\u00a0TB/s", "3.00\u00a0TB/s"]);
  same("tooltip at first", first.tips[0], "NVIDIA H100: 3.00\u00a0TB/s");
  same("output at first", first.outputs, ["42, says NVIDIA H200"]);
  same("charts of the H100 at first", first.chart, [false]);

  await page.click(".wb-switch button[data-device=nvidia-h100]");
  // Charts follow a little after the numbers; what does not come is named below.
  const ofH100 = () => [...document.querySelectorAll(".wb-chart figcaption")].some((c) => c.checkVisibility() && c.innerText.includes("H100"));
  await page.waitForFunction(ofH100, null, { timeout: 5000 }).catch(() => {});
  const chosen = await shown(page);
  same("numbers of the H100", chosen.numbers, ["3.00\u00a0TB/s", "3.00\u00a0TB/s"]);
  same("tooltips", chosen.tips, ["NVIDIA H200: 4.00\u00a0TB/s", "the device you chose has no such number"]);
  same("output of the H100", chosen.outputs, ["42, says NVIDIA H100"]);
  same("charts of the H100", chosen.chart, [true]);
  same("pressed", chosen.pressed, ["NVIDIA H100"]);
  const label = await page.getAttribute("article p .wb-value a", "aria-label");
  same("the label names the number and its device", /^3\.00\sTB\/s\. measured on NVIDIA H100/.test(label), true);
  const link = await page.getAttribute("article p .wb-value a", "href");
  same("the number leads to its record", link.endsWith("records/nvidia-h100/x.json"), true);

  await page.reload();
  same("numbers after a reload", (await shown(page)).numbers, chosen.numbers);
  const other = await open("zh/x/", { context });
  const chinese = await shown(other.page);
  other.same("numbers in the other language", chinese.numbers, chosen.numbers);
  other.same("tooltip in the other language", chinese.tips[1], "所选设备没有这个数值");

  const table = await open("devices/", { context });
  table.same("the choice beneath the devices", await texts(table.page, ".wb-choice [aria-pressed=true]"), ["NVIDIA H100"]);
  await table.page.focus(".wb-choice button[data-device=nvidia-h200]");
  await table.page.keyboard.press("Enter");
  table.same("every column keeps its numbers", await texts(table.page, ".wb-devices tbody:last-child tr:nth-child(2) strong"), ["4.00\u00a0TB/s", "3.00\u00a0TB/s"]);
  await page.reload();
  same("numbers as at first", (await shown(page)).numbers, first.numbers);
  await page.click(".wb-switch button[data-device=softcuda]");
  const cpu = await shown(page);
  same("numbers where softcuda has none", cpu.numbers, first.numbers);
  same("output of softcuda", cpu.outputs, ["42, says NVIDIA H200 (softcuda)"]);
  await context.close();
}

async function sorting(path) {
  const { context, page, same } = await open(path);
  const table = ".wb-ledger > .wb-claims";
  const measured = () => column(page, 4);
  const written = await measured();
  const by = async (i) => (await page.focus(`${table} th:nth-child(${i}) button`), page.keyboard.press("Enter"));
  await by(4);
  same("up", await measured(), ["1.50", "1.50", "2.00", "2.00", "3.00", "3.00", "3.00", "3.00", "4.00", "4.00"].map((n) => `${n}\u00a0TB/s`));
  same("aria-sort", await page.$$eval(`${table} th`, (heads) => heads.map((head) => head.ariaSort).join()), "none,none,none,ascending,none,none,none,none");
  await by(4);
  same("down", (await measured())[0], "4.00\u00a0TB/s");
  same("aria-sort", await page.getAttribute(`${table} th:nth-child(4)`, "aria-sort"), "descending");
  for (const i of [1, 2, 3, 5, 6, 7, 8]) await by(i);
  same("rows", (await measured()).toSorted(), written.toSorted());
  await by(5);
  const best = await column(page, 5);
  same("by prediction, the best first", [/25/.test(best[0]), /25/.test(best.at(-1))], [true, false]);

  await page.selectOption(".wb-ledger select[name=device]", "nvidia-h100");
  same("devices", new Set(await column(page, 7)).size, 1);
  same("said", (await texts(page, ".wb-ledger__filtered"))[0], path.startsWith("zh") ? "共 10 条，显示 4 条。" : "4 of 10 claims are shown.");
  await page.selectOption(".wb-ledger select[name=prediction]", "close");
  same("of the H100, predictions that came close", await measured(), []);
  await page.selectOption(".wb-ledger select[name=device]", "");
  same("predictions that came close", await measured(), ["4.00\u00a0TB/s", "4.00\u00a0TB/s"]);
  same("the gates are folded", await page.isVisible(".wb-gates table"), false);
  await page.click(".wb-gates summary");
  same("and have no buttons", await page.$$eval(".wb-gates table", ([gates]) => [gates.checkVisibility(), gates.querySelectorAll("button").length]), [true, 0]);
  await context.close();
}

async function plain(path) {
  const { context, page, same } = await open(path, { script: false });
  same("rows without a script", await page.$$eval(".wb-ledger > .wb-claims tbody tr", (rows) => rows.filter((row) => row.checkVisibility()).length), 10);
  same("filters without a script", await page.isVisible(".wb-ledger__filters"), false);
  same("buttons without a script", await page.$$eval(".wb-ledger th button", (found) => found.length), 0);
  await context.close();
}

async function accessible(path, scheme) {
  const context = await browser.newContext({ colorScheme: scheme });
  for (const width of [1280, 390]) {
    const { page, same } = await open(path, { scheme, width, context });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run({ resultTypes: ["violations"], selectors: false }));
    same(`axe at ${width} px`, violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 120)}`), []);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > width) same("width", wide, width);
    await page.close();
  }
  await context.close();
}

export default async function look(tools, url) {
  [axe, base, browser, problems] = [tools.axe, url, await tools.browser(), []];
  await choosing();
  for (const path of ["ledger/", "zh/ledger/"]) {
    await sorting(path);
    await plain(path);
  }
  for (const path of ["x/", "devices/", "ledger/", "zh/devices/", "zh/ledger/"]) for (const scheme of ["light", "dark"]) await accessible(path, scheme);
  return problems;
}
