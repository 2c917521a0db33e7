// A small book's page with every interactive figure: `look(tools, URL)` is called by browser.mjs.
import { laidOut, once, ready } from "./page.mjs";

let axe, base, browser, problems;

async function open(path, { scheme = "light", width = 1280, script = true } = {}) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 900 }, javaScriptEnabled: script });
  const page = await context.newPage(), asked = [];
  const same = (what, got, want) => {
    if (JSON.stringify(got) !== JSON.stringify(want))
      problems.push({ page: path, scheme, what: `at ${width} px: ${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}` });
  };
  page.on("pageerror", (error) => same("script", error.message, ""));
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  if (script)
    await page.addInitScript(() => {
      globalThis.shifted = [];
      const moved = ({ node }) => node?.parentElement?.closest("article") && globalThis.shifted.push(node.textContent.slice(0, 60));
      new PerformanceObserver((list) => list.getEntries().forEach((entry) => entry.sources.forEach(moved))).observe({ type: "layout-shift", buffered: true });
    });
  await page.goto(base + path);
  if (script && path.includes("x/")) await page.waitForFunction(() => !document.querySelector(".wb-explore fieldset:disabled")); // each figure has a module of its own
  if (script) await ready(page);
  return { context, page, same, asked };
}

const figures = (page) => page.$$eval(".wb-explore", (found) => found.map((figure) => ({
  name: figure.dataset.explore, height: figure.getBoundingClientRect().height, drawn: figure.querySelector(".wb-explore__picture").innerHTML,
  said: figure.querySelector("[role=status]").textContent, numbers: figure.querySelector("dl").innerHTML,
})));
const said = (page, name) => page.textContent(`[data-explore=${name}] [role=status]`);
const number = (page, name, i) => page.textContent(`[data-explore=${name}] dl div:nth-child(${i}) dd`);

// What was drawn at build is what the script draws, to the pixel.
async function still(path) {
  for (const width of [1280, 390]) {
    const without = await open(path, { script: false, width }), stands = (await laidOut(without.page), await figures(without.page));
    without.same("figures", stands.map(({ name }) => name), ["sectors", "banks", "occupancy"]);
    without.same("controls that answer", await without.page.$$eval(".wb-explore :is(input, select):enabled", (found) => found.length), 0);
    without.same("what is said of it", await without.page.$$eval(".wb-explore__still", (found) => found.filter((one) => one.checkVisibility()).length), 3);
    const { page, same, context } = await open(path, { width });
    const moved = await page.evaluate(() => globalThis.shifted); // before anything is laid out for this test
    await laidOut(page);
    const moves = await once(() => figures(page), stands);
    moves.forEach((figure, i) => Object.keys(figure).forEach((key) => same(`${figure.name}: ${key} with a script`, figure[key], stands[i][key])));
    same("what moved in the article", moved, []);
    await without.context.close();
    await context.close();
  }
}

async function legible(path) {
  const sizes = {};
  for (const scheme of ["light", "dark"]) for (const width of [1280, 390]) {
    const { context, page, same } = await open(path, { scheme, width });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run({ resultTypes: ["violations"], selectors: false }));
    same("axe", violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 160)}`), []);
    same("page", Math.max(width, await page.evaluate(() => document.documentElement.scrollWidth)), width);
    await laidOut(page);
    const drawings = await page.$$eval(".wb-explore", (found) => found.map((figure) => [...figure.querySelectorAll("svg text")].map((text) => {
      const { left, right, top, bottom } = text.getBoundingClientRect();
      return { said: text.textContent, size: getComputedStyle(text).fontSize, left, right, top: top + 3, bottom: bottom - 3 };
    })));
    drawings.forEach((texts, i) => texts.forEach((a, k) => {
      if (a.left < 0 || a.right > width) same(`"${a.said}"`, [a.left, a.right], "within the screen");
      sizes[`${i} ${k}`] ??= a.size;
      same(`size of "${a.said}"`, a.size, sizes[`${i} ${k}`]);
      for (const b of texts.slice(k + 1))
        if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) same(`"${a.said}" over`, b.said, "");
    }));
    await context.close();
  }
}

async function byKeyboard(path) {
  const { context, page, same } = await open(path);
  const reached = new Set();
  await page.focus("[data-explore=sectors] select");
  for (let i = 0; i < 30; ++i) {
    reached.add(await page.evaluate(() => document.activeElement.name));
    await page.keyboard.press("Tab");
  }
  const every = await page.$$eval(".wb-explore :is(input, select)", (found) => found.map((one) => one.name));
  same("controls reached", every.filter((name) => !reached.has(name)), []);
  same("controls without a name", await page.$$eval(".wb-explore :is(input, select)", (found) => found.filter((one) => !one.labels[0]?.innerText.trim()).length), 0);

  await page.focus("[data-explore=sectors] [name=stride]");
  await page.keyboard.press("ArrowRight");
  same("sectors of stride 2", await number(page, "sectors", 1), "8");
  same("stride shown", await page.$eval("[data-explore=sectors] [name=stride]", (one) => one.labels[0].querySelector("b").textContent), "2");
  same("pattern", await page.inputValue("[data-explore=sectors] [name=preset]"), "two");
  await page.keyboard.press("End");
  same("sectors of stride 64", await number(page, "sectors", 1), "32");
  await page.keyboard.press("Home");
  same("sectors of stride 0", await number(page, "sectors", 1), "1");
  await page.selectOption("[data-explore=sectors] [name=preset]", "vector");
  same("sectors of float4", await number(page, "sectors", 1), "16");
  same("element", await page.inputValue("[data-explore=sectors] [name=size]"), "16");

  same("conflicts of a column", await number(page, "banks", 3), "31");
  await page.selectOption("[data-explore=banks] [name=preset]", "padded");
  same("conflicts with padding", await number(page, "banks", 3), "0");
  same("index", await page.inputValue("[data-explore=banks] [name=index]"), "x * 33 + y");
  const before = (await figures(page))[1].drawn;
  await page.fill("[data-explore=banks] [name=index]", "x * (");
  same("an index that is none", [/9|5|6/.test(await said(page, "banks")), (await figures(page))[1].drawn === before], [true, true]);
  same("aria-invalid", await page.getAttribute("[data-explore=banks] [name=index]", "aria-invalid"), "true");
  await page.fill("[data-explore=banks] [name=index]", "<img src=x onerror=alert(1)>");
  same("markup in an index", await page.$$eval(".wb-explore img", (found) => found.length), 0);
  await page.fill("[data-explore=banks] [name=index]", "x * 2");
  await page.keyboard.press("Enter"); // sends nothing anywhere
  same("conflicts of stride 2", await number(page, "banks", 3), "1");
  same("aria-invalid", await page.getAttribute("[data-explore=banks] [name=index]", "aria-invalid"), "false");

  await page.selectOption("[data-explore=occupancy] [name=device]", "t4");
  same("occupancy on a T4", await number(page, "occupancy", 1), "100\u00a0%");
  await page.focus("[data-explore=occupancy] [name=registers]");
  await page.keyboard.press("End");
  same("blocks of 255 registers", await number(page, "occupancy", 2), "1");
  await page.focus("[data-explore=occupancy] [name=shared]");
  await page.keyboard.press("End");
  same("blocks that ask for too much", await number(page, "occupancy", 2), "0");
  await context.close();
}

// A page without figures loads nothing for them.
async function elsewhere() {
  const { context, same, asked } = await open("");
  same("asked for", asked.filter((path) => path.includes("explore")), []);
  await context.close();
  const { asked: here, context: other } = await open("x/");
  same("host's files", here.filter((path) => path.includes("explore")).length > 3, true);
  await other.close();
}

export default async function look(tools, url) {
  [axe, base, browser, problems] = [tools.axe, url, await tools.browser(), []];
  for (const path of ["x/", "zh/x/"]) {
    await still(path);
    await legible(path);
    await byKeyboard(path);
  }
  await elsewhere();
  return problems;
}
