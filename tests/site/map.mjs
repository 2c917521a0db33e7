// The map of the book: an article that has the focus shows what it needs and leads to, what is ticked is marked, and what can be
// read next follows from it, in both languages. On a phone there is the list, without scripts a drawing with links.
// `look(tools, URL)` is called by browser.mjs.
import { once, opener } from "./page.mjs";

const marked = (page, mark) => page.$$eval(`.wb-map__node--${mark}`, (all) => all.map((node) => node.dataset.article).sort());
const next = (page) => page.$$eval(".wb-map__next a", (all) => all.map((link) => link.dataset.article));

export default async function look(tools, base) {
  const problems = [], open = opener(await tools.browser(), base, problems);
  for (const path of ["map/", "zh/map/"]) {
    const { context, page, same } = await open(path);
    // What the lists of needs say, followed to their ends.
    const needs = new Map(await page.$$eval(".wb-map__node", (all) => all.map((node) => [node.dataset.article, node.dataset.needs.split(" ").filter(Boolean)])));
    const all = (name) => new Set(needs.get(name).flatMap((one) => [one, ...all(one)]));
    const first = [...needs.keys()].filter((name) => !needs.get(name).length);
    const [deep] = [...needs.keys()].sort((a, b) => all(b).size - all(a).size);
    same("every article is in the list, too", await page.$$eval("h3 ~ ul .wb-done", (boxes) => boxes.map((box) => box.dataset.read)), [...needs.keys()]);
    same("next, with nothing read", await next(page), first);

    await page.locator(`.wb-map__node[data-article="${deep}"]`).focus();
    same("what the focus says is needed", await marked(page, "before"), [...all(deep)].sort());
    same("the chosen article", await marked(page, "chosen"), [deep]);
    same("what is said of it", await page.locator(".wb-map__chosen li").count() > 0, true);
    await page.locator(`.wb-map__node[data-article="${first[0]}"]`).hover();
    same("what the pointer says is led to", await marked(page, "after"), [...needs.keys()].filter((name) => all(name).has(first[0])).sort());
    await page.keyboard.press("Escape");
    same("marks after Escape", [...await marked(page, "after"), ...await marked(page, "chosen")], []);

    // Each pane lies beside the drawing's boxes, and each box in the drawing.
    const under = () => page.evaluate(() => {
      const boxes = [...document.querySelectorAll(".wb-map__node rect")].map((one) => one.getBoundingClientRect());
      return [...document.querySelectorAll(".wb-map__chosen, .wb-map__next")].map((one) => one.getBoundingClientRect())
        .flatMap((pane) => boxes.filter((box) => box.left < pane.right && pane.left < box.right && box.top < pane.bottom && pane.top < box.bottom)).length;
    });
    for (const name of needs.keys()) {
      await page.locator(`.wb-map__node[data-article="${name}"]`).focus();
      same(`boxes under a pane that shows ${name}`, await under(), 0);
    }
    same("names wider than their boxes", await page.$$eval(".wb-map__node", (nodes) => nodes.filter((node) => [...node.querySelectorAll("text")]
      .some((text) => text.getBoundingClientRect().width > node.querySelector("rect").getBoundingClientRect().width)).map((node) => node.dataset.title)), []);

    // Ticked at an article's foot, and known to the map that is open beside it.
    const foot = await context.newPage();
    await foot.goto(new URL(await page.locator(`.wb-map__node[data-article="${first[0]}"]`).getAttribute("href"), page.url()).href);
    await foot.locator(".wb-onward .wb-done label").click();
    same("read, as the map knows", await once(() => marked(page, "read"), [first[0]]), [first[0]]);
    const then = [...needs.keys()].filter((name) => name !== first[0] && needs.get(name).every((one) => one === first[0]));
    same("next, with one read", await next(page), then);
    same("next, on the map", await marked(page, "next"), [...then].sort());
    await page.locator(`h3 ~ ul [data-read="${first[0]}"] input`).uncheck();
    same("next, unread again", await next(page), first);

    const phone = await open(path, { width: 390 });
    same("a map on a phone", await phone.page.locator(".wb-map svg[role]").isVisible(), false);
    same("next on a phone", await phone.page.locator(".wb-map__next").isVisible(), true);

    const plain = await open(path, { javaScriptEnabled: false });
    same("links without scripts", await plain.page.locator(".wb-map__node[href]").count(), needs.size);
    same("goals without scripts", await plain.page.locator(".wb-map__node > title").count(), needs.size);
    same("boxes without scripts", await plain.page.locator(".wb-done:visible, .wb-map__next:visible, .wb-map__chosen:visible").count(), 0);
  }
  return problems;
}
