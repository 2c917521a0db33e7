// A track's self-test, by keyboard: `look(tools, URL, page)` is called by browser.mjs. `page` has three questions, in both languages.
import { once, opener } from "./page.mjs";

export default async function look(tools, base, path) {
  const problems = [], browser = await tools.browser(), open = opener(browser, base, problems);
  const { context, page, same } = await open(path);
  const question = (i, of = page) => of.locator(".wb-question").nth(i);
  const score = (of = page) => of.locator(".wb-selftest__score [role=status]").innerText();
  const said = (i, of = page) => question(i, of).locator("[role=status]").innerText();
  const right = (i) => question(i).locator("details li strong").first().textContent();

  // Goes to an answer with the arrow keys and to the button with Tab.
  async function answer(i, choose) {
    const letter = await right(i), choices = question(i).locator("input");
    const letters = await choices.evaluateAll((all) => all.map((one) => one.value));
    const wanted = choose(letters, letter);
    await choices.first().focus();
    await page.keyboard.press("Space");
    for (let k = 0; k < letters.indexOf(wanted); k++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Tab");
    same("reached by Tab", await page.evaluate(() => document.activeElement.textContent), "Check");
    await page.keyboard.press("Enter");
    return wanted;
  }
  const rightly = (letters, letter) => letter, wrongly = (letters, letter) => letters.find((one) => one !== letter);

  same("at first", await score(), "0 of 3 answered, 0 right at the first try.");
  same("the question names its answers", await page.getByRole("group", { name: /^1\. What does/ }).getByRole("radio").count(), 3);
  await question(2).locator("button").focus();
  await page.keyboard.press("Enter");
  same("without a choice", await said(2), "Choose an answer first.");

  const first = await answer(0, rightly);
  same("a right answer", (await said(0)).startsWith(`${first} is right. Count 100.`), true);
  same("what teaches it", await question(0).locator("[role=status] a").getAttribute("href"), "copying/#count");
  const second = await answer(1, wrongly);
  same("a wrong answer", (await said(1)).startsWith(`${second} is wrong. Not 101`), true);
  same("its mark", await question(1).locator(`label.wb-wrong input[value=${second}]`).count(), 1);
  same("a solution that nobody opened", await page.locator(".wb-question details[open]").count(), 0);
  same("answered", await score(), "2 of 3 answered, 1 right at the first try.");
  await answer(1, rightly);
  same("a second try", await score(), "2 of 3 answered, 1 right at the first try.");
  same("both tries", await question(1).locator("label.wb-wrong, label.wb-right").count(), 2);
  await page.reload();
  same("kept", await score(), "2 of 3 answered, 1 right at the first try.");
  same("the answer kept", (await said(0)).startsWith(`${first} is right.`), true);

  const other = await context.newPage();
  await other.goto(`${base}zh/${path}`);
  same("in the other language", await score(other), "3 题已答 2 题，一次答对 1 题。");
  same("its answer", (await said(0, other)).startsWith(`${first} 正确。数 100。`), true);
  const shown = await other.locator(".wb-selftest").innerText();
  same("English on the Chinese page", shown.match(/Check|Answer|right|wrong|Read|Start/)?.[0], undefined);
  await other.getByRole("button", { name: "清空重做" }).press("Enter");
  same("cleared", await score(other), "3 题已答 0 题，一次答对 0 题。");
  same("cleared in the other tab", await once(() => score(), "0 of 3 answered, 0 right at the first try."), "0 of 3 answered, 0 right at the first try.");
  same("nothing said", [await said(0), await page.locator(".wb-question input:checked").count()], ["", 0]);

  // With an answer shown, light and dark, wide and narrow.
  for (const colorScheme of ["light", "dark"])
    for (const width of [1280, 390]) {
      const one = await open(path, { width, colorScheme });
      const box = one.page.locator(".wb-question").first();
      await box.locator("input").first().check();
      await box.locator("button").click();
      one.same("scrolls sideways", await one.page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
      await one.page.evaluate(tools.axe);
      const { violations } = await one.page.evaluate(() => axe.run(".wb-selftest", { resultTypes: ["violations"] }));
      one.same(`axe, ${colorScheme}`, violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 120)}`), []);
      await one.context.close();
    }

  const plain = await open(path, { javaScriptEnabled: false });
  const box = plain.page.locator(".wb-question").first();
  plain.same("answers without scripts", await box.locator(":scope > ul > li").count(), 3);
  await box.locator("summary").click();
  plain.same("the solution without scripts", (await box.locator("details li").first().innerText()).includes("is right. Count 100."), true);
  plain.same("controls without scripts", await plain.page.locator(".wb-selftest :is(input, button)").count(), 0);
  return problems;
}
