// What scripts that look at pages share.

// Waiting for a page by what it does and not by a time: on a wide page the pointer moves, which brings Material's script; it has
// run, and the page has nothing to do. A narrow page is looked at without it.
export async function ready(page) {
  if (page.viewportSize().width >= 960) for (const at of [1, 2]) await page.mouse.move(at, at);
  await page.waitForFunction(() => window.document$ || !document.querySelector("script[data-src]") || innerWidth < 960, null, { polling: 20, timeout: 60000 });
  await page.evaluate(() => new Promise((done) => requestIdleCallback(done, { timeout: 500 })));
}

// A page as it stays: its fonts are there, and what waits to come into sight has been laid out.
export const laidOut = (page) => page.evaluate(async () => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { content-visibility: visible !important }");
  document.adoptedStyleSheets.push(sheet);
  document.body.getBoundingClientRect(); // asks for fonts
  await document.fonts.ready;
});

// What `read` gives once it is `want`; or, where it does not come to be that within some seconds, what it gives in the end.
export async function once(read, want, seconds = 10) {
  const end = Date.now() + 1000 * seconds;
  let got = await read();
  while (JSON.stringify(got) !== JSON.stringify(want) && Date.now() < end) {
    await new Promise((done) => setTimeout(done, 50));
    got = await read();
  }
  return got;
}

// open(path) of a site opens a page in a context of its own; same(what, got, want) adds to `problems` where the two differ.
export function opener(browser, base, problems) {
  return async (path, { width = 1280, ...options } = {}) => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, permissions: ["clipboard-read", "clipboard-write"], ...options });
    const page = await context.newPage();
    const same = (what, got, want) => {
      if (JSON.stringify(got) !== JSON.stringify(want))
        problems.push({ page: path, scheme: "light", what: `at ${width} px: ${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}` });
    };
    page.on("pageerror", (error) => same("script", error.message, ""));
    await page.goto(base + path);
    if (options.javaScriptEnabled !== false) await ready(page);
    return { context, page, same };
  };
}
