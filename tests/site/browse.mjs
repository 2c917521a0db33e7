// Look at the built site in a real browser: `node browse.mjs NODE_MODULES CHROMIUM URL [PAIR]`. Prints one JSON list of
// what is wrong, each entry {page, scheme, what}. PAIR is a page's path in each language, as JSON; without it, search is tried.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [modules, browserPath, base, pairText] = process.argv.slice(2);
const require = createRequire(modules + "/");
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const SEARCHES = { en: ["reduction", "optimisation/reduction/"], zh: ["归约", "zh/optimisation/reduction/"] };

const problems = [];
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });

async function open(path, scheme, width = 1280) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 900 } });
  const page = await context.newPage();
  const told = (what) => problems.push({ page: path, scheme, what });
  page.on("request", (request) => {
    const { host, protocol } = new URL(request.url());
    if (protocol !== "data:" && protocol !== "blob:" && host !== new URL(base).host) told(`request to ${request.url()}`);
  });
  page.on("response", (response) => response.status() >= 400 && told(`${response.status()} for ${response.url()}`));
  page.on("console", (message) => message.type() === "error" && told(`console: ${message.text()}`));
  page.on("pageerror", (error) => told(`script: ${error.message}`));
  await page.goto(base + path);
  await page.waitForTimeout(200); // for what scripts do and ask for once the page is there
  return { context, page, told };
}

// As for a reader who has been everywhere and opened everything: what waits for its layout has it.
function unfold() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { content-visibility: visible !important }");
  document.adoptedStyleSheets.push(sheet);
  for (const details of document.querySelectorAll("article details")) details.open = true;
}

// Of drawings and charts on a phone: letters of 10 px or more, a name, and what they show in words or as a table.
function drawn() {
  const wrong = [];
  for (const figure of document.querySelectorAll("article figure:has(svg)")) {
    const name = figure.className + " " + (figure.querySelector("title, figcaption")?.textContent ?? "").slice(0, 40);
    const drawing = figure.querySelector("svg[role=img], [role=img]");
    const described = (drawing?.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent);
    if (!drawing?.ariaLabel && !described.some(Boolean) && !figure.querySelector("figcaption")?.textContent) wrong.push(`${name}: a drawing without a name`);
    if (!figure.querySelector("svg desc, table, dl")) wrong.push(`${name}: nothing that says it in words`);
    for (const text of figure.querySelectorAll("svg text")) {
      if (!text.getClientRects().length) continue;
      const { a, b } = text.getScreenCTM(), size = parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b);
      if (size < 9.99) wrong.push(`${name}: "${text.textContent}" is ${size.toFixed(1)} px high at 390 px`);
    }
  }
  for (const box of document.querySelectorAll("article *")) {
    if (box.scrollWidth <= box.clientWidth + 1 || !/auto|scroll/.test(getComputedStyle(box).overflowX)) continue;
    const reached = box.tabIndex >= 0 || box.querySelector("a[href], button, [tabindex='0']");
    if (!reached) wrong.push(`${box.tagName}.${box.className}: scrolls, and not by keyboard`);
  }
  return wrong;
}

async function look(path, language, scheme) {
  const { context, page, told } = await open(path, scheme);
  const shown = await page.evaluate(() => {
    const prose = () => { // code and formulas may hold what looks like one left as written
      const article = document.querySelector("article")?.cloneNode(true);
      article?.querySelectorAll("pre, code, script, style, .katex").forEach((element) => element.remove());
      return article?.textContent ?? "";
    };
    return {
      lang: document.documentElement.lang,
      scheme: document.body.dataset.mdColorScheme,
      raw: prose().match(/\\\(|\\\[|\$\$|\{\{ |WARPBOOK\d/)?.[0],
      error: document.querySelector(".katex-error")?.textContent,
      math: [...document.querySelectorAll(".wb-math")].filter((m) => !m.querySelector(".katex-html")).length,
      alternates: [...document.querySelectorAll("link[hreflang]")].map((link) => link.hreflang).sort().join(),
      missing: document.querySelectorAll(".wb-missing").length,
    };
  });
  if (shown.lang !== language) told(`lang is ${shown.lang}`);
  if (shown.scheme !== (scheme === "dark" ? "slate" : "default")) told(`colours are ${shown.scheme}`);
  if (shown.raw || shown.error || shown.math) told(`left as written: ${shown.raw ?? shown.error ?? "a formula"}`);
  if (shown.alternates !== "en,x-default,zh") told(`hreflang names ${shown.alternates}`);
  if (shown.missing) told(`${shown.missing} numbers missing`);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run());
  for (const { id, nodes } of violations)
    told(`axe: ${id}: ${nodes.length}: ${nodes[0].html.slice(0, 160)} ${nodes[0].failureSummary?.split("\n")[1] ?? ""}`);
  await context.close();

  if (scheme === "light") {
    const narrow = await open(path, scheme, 390);
    const width = await narrow.page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 390) narrow.told(`scrolls sideways at 390 px: ${width} px wide`);
    await narrow.page.evaluate(unfold);
    await narrow.page.waitForTimeout(100);
    for (const what of await narrow.page.evaluate(drawn)) narrow.told(what);
    await narrow.context.close();
  }
}

async function change(from, to) {
  const { context, page, told } = await open(`${from}?a=1`, "light");
  const language = to.startsWith("zh/") ? "zh" : "en";
  const last = async (kind) => { // the last heading of that kind that can be brought to the top; its id, or nothing
    const id = await page.evaluate((kind) => {
      for (const heading of [...document.querySelectorAll(`article ${kind}[id]`)].reverse()) {
        heading.scrollIntoView({ behavior: "instant" });
        if (heading.getBoundingClientRect().top < 110) return heading.id;
      }
    }, kind);
    return id ?? "";
  };
  for (const kind of ["h3", "h2"]) {
    const there = await last(kind);
    if (!there) continue;
    await page.click(`.wb-languages a[hreflang=${language}]`);
    await page.waitForURL((url) => url.pathname === "/" + to);
    await page.waitForLoadState();
    const { hash, search } = new URL(page.url());
    const hidden = () => page.evaluate((id) => !(document.getElementById(id)?.getBoundingClientRect().top < 300), there);
    for (let i = 0; i < 50 && await hidden(); i++) await page.waitForTimeout(100); // the browser goes there after it has loaded
    if (decodeURIComponent(hash.slice(1)) !== there || await hidden()) told(`the switcher opened ${to} at "${hash}", not at "${there}"`);
    if (search !== "?a=1") told(`the switcher forgot the query: "${search}"`);
    await page.goto(base + from + "?a=1");
  }
  await page.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
  await page.click(`.wb-languages a[hreflang=${language}]`);
  await page.waitForURL((url) => url.pathname === "/" + to);
  if (new URL(page.url()).hash) told(`from the top the switcher opened ${to} at "${new URL(page.url()).hash}"`);
  await context.close();
}

async function search(language) {
  const [query, expected] = SEARCHES[language];
  const { context, page, told } = await open(language === "zh" ? "zh/" : "", "light");
  await page.focus(".md-search__input");
  await page.keyboard.type(query);
  try {
    await page.waitForFunction((path) => [...document.querySelectorAll(".md-search-result__link")]
      .some((link) => new URL(link.href).pathname === "/" + path), expected, { timeout: 10000 });
  } catch {
    told(`searching ${query} does not find ${expected}`);
  }
  await context.close();
}

async function chooseDevice(path) {
  const { context, page, told } = await open(path, "light");
  const buttons = await page.$$(".wb-switch button[data-device=softcuda]");
  if (buttons.length) {
    await buttons[0].click();
    await page.reload();
    const shown = await page.$$eval(".wb-output", (boxes) => boxes.map((box) => box.querySelector("pre:not([hidden])")?.dataset.device));
    if (shown[0] !== "softcuda") told(`the device chosen is forgotten: ${shown[0]} is shown`);
  }
  await context.close();
}

if (pairText) {
  const pair = JSON.parse(pairText);
  for (const scheme of ["light", "dark"]) await Promise.all(["en", "zh"].map((language) => look(pair[language], language, scheme)));
  await Promise.all([change(pair.en, pair.zh), change(pair.zh, pair.en), chooseDevice(pair.en)]);
} else {
  for (const language of ["en", "zh"]) await search(language);
}
await browser.close();
console.log(JSON.stringify(problems));
