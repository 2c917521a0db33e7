// Old addresses lead to where their sections are now: `look(tools, URL, cases)` is called by browser.mjs. `cases`: [[address as
// it was, address as it is]] below the URL. Without scripts the page shows the link.
export default async function look(tools, base, cases) {
  const browser = await tools.browser(), problems = [];
  for (const javaScriptEnabled of [true, false]) {
    const page = await (await browser.newContext({ javaScriptEnabled, viewport: { width: 1280, height: 900 } })).newPage();
    for (const [old, now] of cases) {
      const told = (what) => problems.push({ page: old, scheme: javaScriptEnabled ? "light" : "without scripts", what });
      if (!javaScriptEnabled) {
        await page.goto("about:blank");
        await page.goto(base + old);
        const shown = await page.evaluate(() => {
          const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
          const box = target?.closest("li")?.getBoundingClientRect();
          return Boolean(box && box.top < innerHeight && box.bottom > 0);
        });
        if (!shown && !/-L\d/.test(old)) told("its link is not in sight");
        continue;
      }
      for (const from of ["", old.replace(/#.*/, "")]) { // opened, and by a link within the page
        await page.goto(from ? base + from : "about:blank");
        if (from) await page.evaluate((hash) => (location.hash = hash), new URL(base + old).hash);
        else await page.goto(base + old);
        await page.waitForURL(base + now, { timeout: 30000 }).catch(() => told(`leads to ${page.url()}, not to ${now}`));
      }
    }
    await page.context().close();
  }
  return problems;
}
