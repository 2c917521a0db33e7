// The archive, unpacked into a folder, whose URL is given: `look(tools, URL)`, called by browser.mjs, reads it there as a reader
// would, without a server.
const WORDS = {
  en: { place: "", query: "bank conflict", found: "foundations/memory-access/index.html" },
  zh: { place: "zh/", query: "归约", found: "zh/optimisation/reduction/index.html" },
};

async function language({ page, step, told, same }, base, { place, query, found }) {
  await page.goto(`${base}${place}index.html`);
  await step("from home to an article", async () => {
    await page.locator(`article a[href$="foundations/memory-access/index.html"]:visible`).first().click(); // those of the paths are folded
    await page.waitForURL((url) => url.href.endsWith(`${place}foundations/memory-access/index.html`));
  });
  await step("the figure", async () => {
    await page.waitForSelector("[data-explore=sectors] fieldset:enabled");
    const said = () => page.textContent("[data-explore=sectors] [role=status]");
    const before = await said();
    await page.fill("[data-explore=sectors] [name=stride]", "8");
    await page.waitForFunction((text) => document.querySelector("[data-explore=sectors] [role=status]").textContent !== text, before).catch(() => told("the figure does not answer"));
  });
  await step("search", async () => {
    await page.focus(".md-search__input");
    await page.keyboard.type(query);
    await page.keyboard.press("Shift");
    const link = page.locator(`.md-search-result__link[href*="${found}"]`).first();
    await link.waitFor();
    await link.click();
    await page.waitForURL((url) => url.pathname.endsWith(found));
    same("the article found has a heading", await page.locator("article h1").count(), 1);
  });
}

export default async function look(tools, base) {
  const problems = [];
  const context = await (await tools.browser()).newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(30000);
  const where = () => decodeURI(page.url().replace(base, ""));
  const told = (what) => problems.push({ page: where(), scheme: "light", what });
  const same = (what, got, want) => JSON.stringify(got) === JSON.stringify(want) || told(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}`);
  page.on("request", (request) => /^(file|data|blob|about):/.test(request.url()) || told(`request to ${request.url()}`));
  // ERR_ABORTED is no missing file (that is ERR_FILE_NOT_FOUND): a click led to the next page before this one had loaded.
  page.on("requestfailed", (request) => {
    const { errorText } = request.failure();
    if (errorText !== "net::ERR_ABORTED") told(`cannot be had: ${request.url()}: ${errorText}`);
  });
  page.on("console", (message) => message.type() === "error" && told(`console: ${message.text()}`));
  page.on("pageerror", (error) => told(`script: ${error.message}`));

  const step = async (what, act) => {
    try { await act(); } catch (error) { told(`${what}: ${error.message.split("\n")[0]}`); }
  };
  const reading = { page, step, told, same };

  await language(reading, base, WORDS.en);
  await step("formulas", async () => {
    await page.goto(`${base}models/attention/index.html`);
    await page.evaluate(() => document.fonts.ready);
    const fonts = await page.evaluate(() => [...document.fonts].filter((font) => font.status === "loaded").map((font) => font.family));
    if (!fonts.some((name) => name.includes("KaTeX_Main")) || !fonts.some((name) => name.includes("KaTeX_Math"))) told(`formulas lack fonts: ${fonts}`);
    same("fonts that cannot be had", await page.evaluate(() => [...document.fonts].filter((font) => font.status === "error").length), 0);
  });
  await step("the switcher", async () => {
    await page.click(".wb-languages a[hreflang=zh]");
    await page.waitForURL((url) => url.href.includes("zh/models/attention/index.html"));
    same("lang", await page.getAttribute("html", "lang"), "zh");
  });
  await language(reading, base, WORDS.zh);
  await step("the choice of a device", async () => {
    await page.locator(".wb-switch button[data-device=softcuda]").first().click();
    const next = page.locator(".md-footer__link--next"), address = new URL(await next.getAttribute("href"), page.url()).href;
    await next.click();
    await page.waitForURL(address);
    same("device", await page.locator(".wb-switch button[aria-pressed=true]").first().getAttribute("data-device"), "softcuda");
  });
  await step("a record", async () => {
    const href = await page.locator(".wb-value a").first().getAttribute("href");
    await page.goto(new URL(href, page.url()).href);
    JSON.parse(await page.evaluate(() => document.body.innerText));
  });
  return problems;
}
