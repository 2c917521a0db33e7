// What scripts that look at pages share.

// Waiting for a page by what it does and not by a time: Material's script has run, which comes to a wide page by itself and to a
// narrow one later, and the page has nothing to do.
export async function ready(page) {
  await page.waitForFunction(() => window.document$ || !document.querySelector("script[data-src]") || innerWidth < 960, null, { polling: 20, timeout: 20000 });
  await page.evaluate(() => new Promise((done) => requestIdleCallback(done, { timeout: 500 })));
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
    return { context, page, same };
  };
}
