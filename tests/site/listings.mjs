// Listings and tips of the built site: `look(tools, URL)` is called by browser.mjs.
let base, browser, problems;

async function open(path, { width = 1280, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, permissions: ["clipboard-read", "clipboard-write"], ...options });
  const page = await context.newPage();
  const same = (what, got, want) => {
    if (JSON.stringify(got) !== JSON.stringify(want))
      problems.push({ page: path, scheme: "light", what: `at ${width} px: ${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}` });
  };
  page.on("pageerror", (error) => same("script", error.message, ""));
  await page.goto(base + path);
  return { context, page, same };
}

async function copied(page, listing) {
  await page.locator(listing).first().scrollIntoViewIfNeeded(); // its buttons are made when it comes into view
  await page.locator(`${listing} .md-code__button`).first().click();
  return page.evaluate(() => navigator.clipboard.readText());
}

async function copying() {
  const kernel = await open("optimisation/reduction/");
  const source = await (await fetch(base + "snippets/reduction/ladder/")).text();
  const whole = textOf(source, "reduce.cu");
  const text = await copied(kernel.page, '.highlight:has([id="reduce.cu:v8"])');
  kernel.same("the kernel that is copied, notes and numbers left out", whole.includes(text) && text.split("\n").length, 19);
  await kernel.context.close();
  const shell = await open("zh/");
  shell.same("a console's commands", /^make serve\b.*\nmake test\b[^\n]*$/.test(await copied(shell.page, ".language-console")), true);
  await shell.context.close();
}

// The text of one file of a lab page, without a browser.
function textOf(html, id) {
  const code = html.split(new RegExp(`<code[^>]* id="?${id}"?>`))[1].split("</code>")[0].replace(/<[^>]+>/g, "");
  return code.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}

const marked = (page) => page.evaluate(() => {
  const mark = document.querySelector(".wb-marked")?.getBoundingClientRect();
  const code = mark && document.querySelector(".wb-marked").parentElement.querySelector("code");
  const height = code && parseFloat(getComputedStyle(code).lineHeight), first = code?.getBoundingClientRect().top + parseFloat(getComputedStyle(code).paddingTop);
  return mark && { rows: [(mark.top - first) / height, mark.height / height].map(Math.round), seen: mark.top > 0 && mark.bottom < innerHeight };
});

async function linking(path) {
  const { context, page, same } = await open(`${path}#reduce.cu-L182-L185`);
  same("lines of the address", await marked(page), { rows: [3, 4], seen: true });
  const gutter = page.locator('.highlight:has([id="reduce.cu:v8"]) .wb-gutter');
  const height = await gutter.evaluate((one) => parseFloat(getComputedStyle(one).lineHeight));
  const top = await gutter.evaluate((one) => parseFloat(getComputedStyle(one).paddingTop));
  const click = (row, modifiers = []) => gutter.click({ position: { x: 10, y: top + (row + 0.5) * height }, modifiers });
  await click(0);
  same("the address of a line", new URL(page.url()).hash, "#reduce.cu-L179");
  await click(2, ["Shift"]);
  same("the address of three", new URL(page.url()).hash, "#reduce.cu-L179-L181");
  same("three lines", (await marked(page)).rows, [0, 3]);
  await gutter.focus();
  for (const key of ["Home", "ArrowDown", "ArrowDown", "ArrowUp", "Enter"]) await page.keyboard.press(key);
  same("the address of a line, by keys", new URL(page.url()).hash, "#reduce.cu-L180");
  for (const key of ["ArrowDown", "ArrowDown", "Shift+Enter"]) await page.keyboard.press(key);
  same("the address of three, by keys", new URL(page.url()).hash, "#reduce.cu-L180-L182");
  same("what is heard", await gutter.evaluate((one) => {
    const { role, ariaLabel, ariaSelected } = document.getElementById(one.getAttribute("aria-activedescendant"));
    return [one.role, role, /182.*\w/.test(ariaLabel), ariaSelected];
  }), ["listbox", "option", true, "true"]);
  same("stops of a listing", await page.$$eval(".highlight", (all) => Math.max(...all.map((one) => one.querySelectorAll("[tabindex='0'], .wb-gutter *[tabindex]").length))), 2);
  await page.click('.highlight:has([id="reduce.cu:v8"]) .filename a');
  await page.waitForURL(/snippets\/reduction\/\w+\/#reduce\.cu-L179$/);
  await page.waitForSelector(".wb-marked");
  same("the line in its file", (await marked(page)).seen, true);
  await context.close();
  const without = await open("snippets/reduction/ladder/#reduce.cu-L182", { javaScriptEnabled: false });
  const line = () => without.page.$eval(":target", (line) => {
    const { top } = line.getBoundingClientRect();
    return [line.id, top > 0 && top < innerHeight, getComputedStyle(line, "::before").position];
  });
  for (let i = 0; i < 200 && !(await line())[1]; i++) await without.page.waitForTimeout(100); // the browser goes there after it has loaded
  same("a line without a script", await line(), ["reduce.cu-L182", true, "absolute"]);
  await without.context.close();
}

async function besides() {
  const left = (page, selector) => page.$$eval(selector, (found) => found.slice(0, 2).map((one) => Math.round(one.getBoundingClientRect().left)));
  for (const [path, selector, from] of [["optimisation/reduction/", ".wb-pair > div", 1900], ["snippets/reduction/ladder/", ".wb-lab > *", 1600]]) {
    for (const width of [from, 1280, 390]) {
      const { context, page, same } = await open(path, { width });
      const [first, second] = await left(page, selector);
      same("a kernel beside its program", second > first, width >= from);
      same("page", await page.evaluate(() => document.documentElement.scrollWidth), width);
      await context.close();
    }
  }
}

async function notes(path) {
  const { context, page, same } = await open(path, { width: 390 });
  const wrong = await page.$$eval(".wb-note", (marks) => marks.filter((mark) => !document.getElementById(decodeURIComponent(mark.hash.slice(1)))).length);
  same("notes that lead nowhere", wrong, 0);
  same("marks out of sight", await page.$$eval(".wb-note", (marks) => marks.filter((mark) => mark.getBoundingClientRect().right > innerWidth).length), 0);
  same("notes", await page.$$eval(".wb-note", (marks) => marks.length) > 4, true);
  await context.close();
}

async function outputs(path) {
  const { page, context, same } = await open(path);
  const fold = page.locator(".wb-output__fold").first(), long = page.locator(".wb-output__text:has(+ .wb-output__fold)").first();
  const lines = (text) => text.evaluate((one) => Math.round(one.clientHeight / parseFloat(getComputedStyle(one).lineHeight)));
  const all = Number(/\d+/.exec(await fold.textContent())[0]);
  same("a folded output", [all > 15, await lines(long)], [true, 12]);
  await fold.locator("summary").focus();
  await page.keyboard.press("Enter");
  same("all of it", await long.evaluate((one) => one.scrollHeight - one.clientHeight), 0);
  same("its lines", [0, 1].includes(await lines(long) - all), true);
  const top = () => fold.evaluate((one) => Math.round(one.getBoundingClientRect().top)), before = await top();
  await page.keyboard.press("Enter");
  same("folded again, and nothing has moved under the hand", [await lines(long), Math.abs(await top() - before) < 3], [12, true]);
  await context.close();
}

const TIPS = "article :is(.wb-value a, .wb-quoted a, a.wb-term)";

async function tips(path) {
  const { context, page, same } = await open(path, { width: 390, hasTouch: true, isMobile: true });
  const outside = await page.$$eval(TIPS, (links) => links.filter((link) => link.checkVisibility()).map((link) => {
    link.scrollIntoView({ block: "center" });
    link.classList.add("wb-open");
    link.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    const tip = getComputedStyle(link, "::after"), from = tip.position === "fixed" ? 0 : link.getClientRects()[0].left;
    const left = from + parseFloat(tip.left), right = left + parseFloat(tip.width);
    link.classList.remove("wb-open");
    return left >= 0 && right <= 390 ? "" : link.textContent;
  }).filter(Boolean));
  same("tips beyond the screen", outside, []);
  const term = page.locator("article p a.wb-term").first(), shown = (link) => link.evaluate((one) => getComputedStyle(one, "::after").content !== "none");
  const here = page.url();
  await term.tap();
  same("the first tap opens and stays", [await shown(term), page.url()], [true, here]);
  await term.tap();
  await page.waitForURL(/glossary\/#/);
  await context.close();

  const desk = await open(path), link = desk.page.locator("article p a.wb-term").first();
  await link.scrollIntoViewIfNeeded();
  const box = await link.boundingBox();
  await desk.page.mouse.move(box.x + 4, box.y + 5);
  desk.same("under the pointer", await shown(link), true);
  await desk.page.mouse.move(box.x + 12, box.y + box.height + 14, { steps: 6 });
  desk.same("with the pointer over the tip", await shown(link), true);
  await desk.page.keyboard.press("Escape");
  desk.same("after Escape", await shown(link), false);
  await desk.context.close();
}

async function still() {
  const { context, page, same } = await open("models/attention/", { reducedMotion: "reduce" });
  same("what moves", await page.$$eval("body *", (all) => all.filter((one) => {
    const { animationName, animationDuration, transitionDuration } = getComputedStyle(one);
    return (animationName !== "none" && parseFloat(animationDuration) > 0.001) || transitionDuration.split(",").some((time) => parseFloat(time) > 0.001) && getComputedStyle(one).transitionProperty !== "none";
  }).map((one) => one.className).slice(0, 3)), []);
  await context.close();
}

export default async function look(tools, url) {
  [base, browser, problems] = [url, await tools.browser(), []];
  await copying();
  for (const path of ["optimisation/reduction/", "zh/optimisation/reduction/"]) {
    await linking(path);
    await notes(path);
    await tips(path);
  }
  for (const path of ["snippets/devices/ceilings/", "zh/snippets/devices/ceilings/"]) await outputs(path);
  await besides();
  await still();
  return problems;
}
