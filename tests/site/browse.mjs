// A page of the built site in each of its languages, light and dark, wide and narrow: `look(tools, URL, {en: path, zh: path})`, called by
// browser.mjs; without zh for one in English only. `patience`, the fourth, is in ms: for what may never come. Each language has a browser
// of its own. Its tab is kept for all looks, so that its process and what pages share are loaded once; what a look leaves in it is removed.
import { laidOut, ready } from "./page.mjs";

// A page is loaded twice: narrow and dark, then wide and light, where it turns dark before a reader's eyes.
const WAYS = { light: { colorScheme: "light", width: 1280 }, dark: { colorScheme: "dark", width: 1280 }, narrow: { colorScheme: "dark", width: 390 } };
const SCHEMES = { light: "default", dark: "slate" };

// Of one language: a page, what is wrong with it, and what goes to an address and looks in one of those ways.
async function reader(context, base, problems, patience) {
  const page = context.pages()[0] ?? await context.newPage(), waiting = new Set();
  let path, way = "light";
  const told = (what) => problems.push({ page: path, scheme: way, what });
  page.on("request", (request) => {
    const { host, protocol } = new URL(request.url());
    if (protocol === "data:" || protocol === "blob:") return;
    if (host !== new URL(base).host) told(`request to ${request.url()}`);
    waiting.add(request);
  });
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => waiting.delete(request));
  page.on("response", (response) => response.status() >= 400 && told(`${response.status()} for ${response.url()}`));
  page.on("console", (message) => message.type() === "error" && told(`console: ${message.text()}`));
  page.on("pageerror", (error) => told(`script: ${error.message}`));

  async function go(to, how, query = "") {
    await page.goto("about:blank"); // what the page before still does is that page's
    [path, way] = [to, how];
    waiting.clear();
    await page.emulateMedia({ colorScheme: WAYS[how].colorScheme });
    await page.setViewportSize({ width: WAYS[how].width, height: 900 });
    await page.goto(base + to + query);
    await settled();
  }

  // The same page in the other colours, with none still on their way there.
  async function turn(how) {
    way = how;
    await page.evaluate(() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync("*, ::before, ::after { transition: none !important }");
      document.adoptedStyleSheets.push(sheet);
    });
    await page.emulateMedia({ colorScheme: WAYS[how].colorScheme });
    const scheme = SCHEMES[how];
    await page.waitForFunction((scheme) => document.body.dataset.mdColorScheme === scheme, scheme, { polling: 20, timeout: patience }).catch(() => told(`colours do not become ${scheme}`));
    await settled();
  }

  async function settled() {
    await ready(page).catch(() => told("Material's script does not run"));
    for (let i = 0; 40 * i < patience && waiting.size; i++) await page.waitForTimeout(20);
  }

  async function leave() {
    await page.evaluate(() => (localStorage.clear(), sessionStorage.clear()));
    await page.goto("about:blank");
    await page.mouse.move(0, 0); // over nothing that the next page shows
    page.removeAllListeners();
  }

  return { page, told, go, turn, leave, patience };
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

// Of text that looks alike, and stands in what looks alike, axe measures the contrast of two, not of all: a page has thousands of words
// in some dozens of looks.
function measureContrastOnce() {
  const rule = axe._audit.rules.find(({ id }) => id === "color-contrast"), matches = rule.matches;
  let met, names, looks; // of an element's look and of all around it; anew for each run, since colours turn
  const nameOf = (element) => {
    if (!element) return 0;
    if (!looks.has(element)) {
      const { color, font, opacity, background, textShadow, filter, position, mixBlendMode, fill } = getComputedStyle(element);
      const look = [nameOf(element.parentElement), color, font, opacity, background, textShadow, filter, position, mixBlendMode, fill].join();
      if (!names.has(look)) names.set(look, names.size + 1);
      looks.set(element, names.get(look));
    }
    return looks.get(element);
  };
  const isNew = (element) => {
    if (!element.checkVisibility({ visibilityProperty: true })) return false;
    const name = nameOf(element), times = (met.get(name) ?? 0) + 1;
    met.set(name, times);
    return times <= 2;
  };
  const hasText = (element) => [...element.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
  const matter = (element) => element.matches("input, select, textarea") || hasText(element) && isNew(element);
  rule.matches = (element, ...more) => matter(element) && matches(element, ...more);
  window.measureAnew = () => [met, names, looks] = [new Map(), new Map(), new Map()];
}

// What axe finds, by all of its rules or by those given.
async function axeFinds({ page, told }, rules) {
  const found = await page.evaluate(async (rules) => {
    measureAnew();
    const only = rules && { runOnly: { type: "rule", values: rules } };
    const { violations } = await axe.run({ resultTypes: ["violations"], selectors: false, elementRef: true, ...only }); // only these in full
    return violations.map(({ id, nodes }) => `${id}: ${nodes.length}: ${nodes[0].element?.outerHTML.slice(0, 160)} ${nodes[0].failureSummary?.split("\n")[1] ?? ""}`);
  }, rules);
  for (const what of found) told(`axe: ${what}`);
}

async function whole(one, axe, languages, language) {
  const { page, told } = one;
  const shown = await page.evaluate(() => {
    const prose = () => { // code and formulas may hold what looks like one left as written
      const article = document.querySelector("article")?.cloneNode(true);
      article?.querySelectorAll("pre, code, script, style, .katex").forEach((element) => element.remove());
      return article?.textContent ?? "";
    };
    return {
      lang: document.documentElement.lang,
      raw: prose().match(/\\\(|\\\[|\$\$|\{\{ |WARPBOOK\d/)?.[0],
      error: document.querySelector(".katex-error")?.textContent,
      math: [...document.querySelectorAll(".wb-math")].filter((m) => !m.querySelector(".katex-html")).length,
      alternates: [...document.querySelectorAll("link[hreflang]")].map((link) => link.hreflang).sort().join(),
      missing: document.querySelectorAll(".wb-missing").length,
    };
  });
  if (shown.lang !== language) told(`lang is ${shown.lang}`);
  if (shown.raw || shown.error || shown.math) told(`left as written: ${shown.raw ?? shown.error ?? "a formula"}`);
  if (shown.alternates !== [...languages, "x-default"].sort().join()) told(`hreflang names ${shown.alternates}`);
  if (shown.missing) told(`${shown.missing} numbers missing`);
  await checkColours(one, "light");
  await page.evaluate(axe);
  await page.evaluate(() => axe.configure({ noHtml: true })); // of every element that is right, too
  await page.evaluate(measureContrastOnce);
  await axeFinds(one);
  await one.turn("dark");
  await axeFinds(one, ["color-contrast", "link-in-text-block"]); // no other rule asks for colours
  await one.turn("light");
}

async function checkColours({ page, told }, way) {
  const scheme = await page.evaluate(() => document.body.dataset.mdColorScheme);
  if (scheme !== SCHEMES[way]) told(`colours are ${scheme}`);
}

async function narrow(one) {
  const { page, told } = one;
  await checkColours(one, "dark");
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  if (width > 390) told(`scrolls sideways at 390 px: ${width} px wide`);
  await page.evaluate(unfold);
  let wrong = await page.evaluate(drawn);
  for (let i = 0; i < 200 && wrong.length; i++) { // sizes are told to observers with the frames, off the screen later than on it
    await page.waitForTimeout(50);
    wrong = await page.evaluate(drawn);
  }
  wrong.forEach(told);
}

// The switcher leads from one language's page to the other's, to the heading that is at the top, with the query. `kind`: h3, h2,
// whose last is brought to the top; or nothing, for the top of the page.
async function change({ page, told, patience }, kind, to) {
  const from = new URL(page.url()).pathname;
  await page.keyboard.press("Shift"); // from here on it is the reader who scrolls
  const there = await page.evaluate(async (kind) => {
    for (const heading of kind ? [...document.querySelectorAll(`article ${kind}[id]`)].reverse() : []) {
      for (let i = 0; i < 3; i++) { // what comes into sight is laid out only then, and moves it
        heading.scrollIntoView({ behavior: "instant" });
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      }
      if (heading.getBoundingClientRect().top < 110) return heading.id;
    }
    scrollTo({ top: 0, behavior: "instant" });
    return "";
  }, kind);
  await page.click(`.wb-languages a[hreflang=${to.startsWith("zh/") ? "zh" : "en"}]`);
  await page.waitForURL((url) => url.pathname === "/" + to);
  const { hash, search } = new URL(page.url());
  const seen = !there || await page.waitForFunction((id) => document.getElementById(id)?.getBoundingClientRect().top < 300, there, { polling: 20, timeout: patience })
    .catch(() => false); // the browser goes there after it has loaded
  if (decodeURIComponent(hash.slice(1)) !== there || !seen) told(`the switcher of ${from} opened /${to} at "${hash}", not at "${there}"`);
  if (search !== "?a=1") told(`the switcher of ${from} forgot the query: "${search}"`);
}

async function chooseDevice({ page, told }) {
  const buttons = await page.$$(".wb-switch button[data-device=softcuda]");
  if (!buttons.length) return;
  await buttons[0].evaluate((button) => { // the first may be in a dive
    for (let part = button.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  });
  await laidOut(page); // else the button may move while it is pressed
  await buttons[0].click();
  if (await buttons[0].getAttribute("aria-pressed") !== "true") told("a click does not choose a device");
  await page.reload();
  const shown = await page.$$eval(".wb-output", (boxes) => boxes.map((box) => box.querySelector("pre:not([hidden])")?.dataset.device));
  if (shown[0] !== "softcuda") told(`the device chosen is forgotten: ${shown[0]} is shown`);
}

export default async function look({ kept, axe }, base, pair, patience = 30000) {
  const problems = [];
  const languages = Object.keys(pair);
  await Promise.all(languages.map(async (language, i) => {
    const context = await kept(i, { viewport: { width: 1280, height: 900 } });
    const one = await reader(context, base, problems, patience), here = pair[language], there = pair[language === "en" ? "zh" : "en"];
    await one.go(here, "narrow");
    await narrow(one);
    await one.go(here, "light", "?a=1");
    await whole(one, axe, languages, language);
    for (const kind of there === undefined ? [] : language === "en" ? ["h3"] : ["h2", ""]) { // there and back
      await change(one, kind, there);
      await change(one, kind, here);
    }
    if (language === "en") await chooseDevice(one);
    await one.leave();
  }));
  return problems;
}
