// Open pages of the served site as a telephone would: `node audit.mjs NODE_MODULES CHROMIUM URL PAGES`. PAGES is a JSON list
// of addresses. Prints a line of JSON for each page: {page, bytes, requests, shift, lcp, axe, problems}.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [modules, browserPath, base, list] = process.argv.slice(2);
const require = createRequire(modules + "/");
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const TELEPHONE = { viewport: { width: 412, height: 823 }, deviceScaleFactor: 1.75, isMobile: true };
const AT_ONCE = 2;
const PATIENCE = 120; // seconds a page may take

// Shifts that follow no input, in windows as in https://web.dev/cls: at most 5 s each, ended by a second of quiet.
const watch = () => {
  window.seen = { shifts: [], lcp: 0 };
  new PerformanceObserver((found) => {
    for (const { value, startTime, hadRecentInput } of found.getEntries())
      if (!hadRecentInput) window.seen.shifts.push([startTime, value]);
  }).observe({ type: "layout-shift", buffered: true });
  new PerformanceObserver((found) => {
    for (const { startTime } of found.getEntries()) window.seen.lcp = startTime;
  }).observe({ type: "largest-contentful-paint", buffered: true });
};

function largest(shifts) {
  let [most, sum, first, last] = [0, 0, -Infinity, -Infinity];
  for (const [time, value] of shifts) {
    if (time - last > 1000 || time - first > 5000) [sum, first] = [0, time];
    [sum, last] = [sum + value, time];
    most = Math.max(most, sum);
  }
  return most;
}

async function judge(browser, name, problems) { // as wide as a telephone; axe presumes a keyboard, which telephones hide
  const context = await browser.newContext({ viewport: TELEPHONE.viewport });
  const page = await context.newPage();
  let found = 0;
  for (const colorScheme of ["light", "dark"]) {
    await page.goto("about:blank");
    await page.emulateMedia({ colorScheme });
    await page.goto(base + name);
    await page.evaluate(() => new Promise((done) => requestIdleCallback(done, { timeout: 500 })));
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run({ resultTypes: ["violations"] })); // all rules; only these in full
    for (const { id, nodes } of violations) problems.add(`axe (${colorScheme}): ${id}: ${nodes.length}: ${nodes[0].html.slice(0, 120)}`);
    found += violations.length;
  }
  await context.close();
  return found;
}

async function look(browser, name) {
  const context = await browser.newContext({ ...TELEPHONE, colorScheme: "light" });
  const page = await context.newPage();
  const problems = new Set();
  const asked = new Map(); // what the first load fetched: address, bytes
  let loading = true;
  page.on("request", (request) => {
    const { host, protocol } = new URL(request.url());
    if (protocol !== "data:" && protocol !== "blob:" && host !== new URL(base).host) problems.add(`asks ${host}`);
  });
  page.on("response", (response) => {
    const size = Number(response.headers()["content-length"]);
    if (loading && response.url().startsWith(base) && size) asked.set(response.url(), size);
  });
  page.on("response", (response) => response.status() >= 400 && problems.add(`${response.status()} for ${response.url()}`));
  page.on("console", (message) => message.type() === "error" && problems.add(`console: ${message.text()}`));
  page.on("pageerror", (error) => problems.add(`script: ${error.message}`));
  await page.addInitScript(watch);
  await page.goto(base + name, { waitUntil: "networkidle" });
  loading = false;
  const bytes = [...asked.values()].reduce((a, b) => a + b, 0);
  await page.evaluate(async () => { // to the end, as a reader would, screen by screen
    for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight * 0.8) {
      scrollTo({ top: y, behavior: "instant" });
      await new Promise((done) => { // two frames, or a moment where the browser draws none
        setTimeout(done, 100);
        requestAnimationFrame(() => requestAnimationFrame(done));
      });
    }
  });
  const { shifts, lcp } = await page.evaluate(() => window.seen);
  await context.close();
  const found = await judge(browser, name, problems);
  const shift = Math.round(largest(shifts) * 1e4) / 1e4;
  console.log(JSON.stringify({ page: name, bytes, requests: asked.size, shift, lcp: Math.round(lcp), axe: found, problems: [...problems] }));
}

const names = JSON.parse(list);
const late = (name) => new Promise((_, fail) => setTimeout(() => fail(new Error(`/${name}: not done within ${PATIENCE} s`)), 1000 * PATIENCE).unref());
await Promise.all(Array.from({ length: AT_ONCE }, async () => { // each in a browser of its own: one with two pages may draw only one
  const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
  for (let name; (name = names.shift()) !== undefined;) await Promise.race([look(browser, name), late(name)]);
  await browser.close();
}));
