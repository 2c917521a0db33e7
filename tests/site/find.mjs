// What readers type into the search box, in a browser: `look(tools, URL, queries)`, called by browser.mjs. `queries`: {query: page
// that must be among the first three results shown}, for one language, whose home page is at the URL.
import { ready } from "./page.mjs";

// The page's worker as it is, and a count of what it was asked and what it answered.
function count() {
  globalThis.asked = [];
  globalThis.answered = 0;
  globalThis.Worker = class extends Worker {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) => data.type === 3 && globalThis.answered++);
    }
    postMessage(message) {
      if (message.type === 2) globalThis.asked.push(message.data);
      super.postMessage(message);
    }
  };
}

export default async function look(tools, url, queries) {
  const problems = [];
  const page = await (await (await tools.browser()).newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  const told = (what) => problems.push({ page: new URL(url).pathname.slice(1), scheme: "search", what });
  page.on("console", (message) => message.type() === "error" && told(`console: ${message.text()}`));
  page.on("pageerror", (error) => told(`script: ${error.message}`));
  const fetched = [];
  page.on("request", (request) => request.url().endsWith("documents.json") && fetched.push(request.url()));
  await page.addInitScript(count);
  for (const key of ["f", "s", "/"]) {
    await page.goto("about:blank");
    fetched.length = 0;
    await page.goto(url);
    await ready(page);
    if (fetched.length) told(`fetches ${fetched} before anybody searches`);
    await page.keyboard.press(key);
    await page.waitForFunction(() => document.activeElement.matches(".md-search__input"), null, { polling: 10, timeout: 30000 })
      .catch(() => told(`"${key}" does not open the search box`));
  }
  for (let i = 0; i < 1000 && !fetched.length; i++) await page.waitForTimeout(20);
  if (fetched.length !== 1) told(`once the box is entered and before a letter is typed, ${fetched.length} files of documents are fetched, not 1`);
  for (const [query, wanted] of Object.entries(queries)) {
    await page.fill(".md-search__input", query.slice(0, -1));
    await page.keyboard.press("End");
    await page.keyboard.type(query.at(-1)); // each letter asks: the last one's answer counts, and forty times all letters take long
    const done = await page.waitForFunction((text) => asked.at(-1) === text && answered === asked.length, query, { polling: 10, timeout: 30000 })
      .catch(() => told(`${query}: no answer within 30 s`));
    if (!done) continue;
    const found = await page.$$eval(".md-search-result__item", (items) => items.slice(0, 3).map((item) =>
      item.querySelector("a").href.replace(/[?#].*/, "")));
    if (!found.includes(`${url}${wanted}/`)) told(`${query}: ${wanted} is not in ${found.map((href) => href.replace(url, "")).join(", ") || "an empty list"}`);
  }
  return problems;
}
