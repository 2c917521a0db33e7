// Waiting for a page, by what it does and not by a time.

// Material's script has run, which comes to a wide page by itself and to a narrow one later, and the page has nothing to do.
export async function ready(page) {
  await page.waitForFunction(() => window.document$ || !document.querySelector("script[data-src]") || innerWidth < 960, null, { polling: 20, timeout: 20000 });
  await page.evaluate(() => new Promise((done) => requestIdleCallback(done, { timeout: 500 })));
}
