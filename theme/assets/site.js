// Small conveniences; every page works without them.

// Which device's outputs, charts and numbers are shown: one choice for all pages. Where a device has nothing, the first
// one's stay, and a number's tooltip says so.
const KEY = "warpbook.device";
const NONE = document.documentElement.lang === "zh" ? "所选设备没有这个数值" : "the device you chose has no such number";

function choose(device) {
  for (const box of document.querySelectorAll(".wb-output, .wb-views")) {
    const panes = [...box.querySelectorAll(":scope > [data-device], details > [data-device]")];
    const shown = panes.find((pane) => pane.dataset.device === device) ?? panes[0];
    for (const pane of panes) pane.hidden = pane !== shown;
    for (const button of box.querySelectorAll(".wb-switch button"))
      button.setAttribute("aria-pressed", String(button.dataset.device === shown?.dataset.device));
  }
  for (const button of document.querySelectorAll(".wb-choice button"))
    button.setAttribute("aria-pressed", String(button.dataset.device === device));
  document.querySelectorAll(".wb-value:not(.wb-devices *)").forEach((value) => swap(value, device));
}

// A number in prose. `data-others`: {device: [text, number, tooltip, record]}.
function swap(value, device) {
  const link = value.querySelector("a");
  value.own ??= [link.textContent, value.getAttribute("value"), link.dataset.tip, link.getAttribute("href")];
  const own = /records\/([^/]+)\//.exec(value.own[3])?.[1];
  let [text, number, tip, record] = JSON.parse(value.dataset.others ?? "{}")[device] ?? value.own;
  if (record === value.own[3] && own !== device) tip = `${tip}\n${NONE}`;
  link.textContent = text;
  link.dataset.tip = tip;
  link.setAttribute("href", record);
  label(link, text, tip);
  value.setAttribute("value", number);
}

const label = (link, text, tip) => link.setAttribute("aria-label", `${text}. ${tip.replaceAll("\n", "; ")}`);
for (const link of document.querySelectorAll(".wb-value a")) label(link, link.textContent, link.dataset.tip);

function remembered() {
  try { return localStorage.getItem(KEY); } catch { return null; }
}

for (const choice of document.querySelectorAll(".wb-choice")) choice.hidden = false;
if (remembered()) choose(remembered());

document.addEventListener("click", (event) => {
  const button = event.target.closest(".wb-switch button");
  if (!button) return;
  const before = button.getBoundingClientRect().top;
  choose(button.dataset.device);
  scrollBy(0, button.getBoundingClientRect().top - before); // what is above may have changed height
  try { localStorage.setItem(KEY, button.dataset.device); } catch { /* private window */ }
});

// The other language opens at the same section: headings correspond by their order, their names do not.
const headings = () => [...document.querySelectorAll("article :is(h2, h3, h4)[id]")];

document.addEventListener("click", (event) => {
  const link = event.target.closest(".wb-languages a");
  if (!link || link.hasAttribute("aria-current")) return;
  const above = headings().filter((heading) => heading.getBoundingClientRect().top < 120).length;
  link.hash = above ? `@${above}` : "";
});

const place = /^#@(\d+)$/.exec(location.hash);
if (place) {
  const heading = headings()[Number(place[1]) - 1];
  history.replaceState(null, "", heading ? `#${heading.id}` : location.pathname);
  heading?.scrollIntoView();
}

// What Material's script adds to code blocks, named for those who hear the page; wide tables, scrolled by keyboard too.
const word = document.documentElement.lang === "zh" ? "注" : "Note";

const tables = new WeakSet();
const widths = new ResizeObserver((seen) => { // told of sizes after layout, and of what is off the screen only later
  for (const { target } of seen) {
    const view = target.parentElement;
    if (view.scrollWidth > view.clientWidth) view.tabIndex = 0;
  }
});

function name() {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap > *"))
    if (!tables.has(table)) {
      tables.add(table);
      widths.observe(table);
    }
  for (const nav of document.querySelectorAll("nav.md-code__nav:not([role])")) nav.setAttribute("role", "none");
  for (const mark of document.querySelectorAll("a.md-annotation__index:not([aria-label])"))
    mark.setAttribute("aria-label", `${word} ${mark.querySelector("[data-md-annotation-id]")?.dataset.mdAnnotationId ?? ""}`);
}

name();
new MutationObserver(name).observe(document.body, { childList: true, subtree: true });

// A heat map's cell: its row, its column and its number, as the table under it has them.
document.addEventListener("pointermove", (event) => {
  const grid = event.target.closest?.(".wb-cells");
  if (!grid) return;
  const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(grid.getScreenCTM().inverse());
  const [head, ...rows] = grid.closest("figure").querySelector("table").rows;
  const [row, column] = [rows[Math.floor(y)]?.cells, Math.floor(x) + 1];
  if (!row?.[column]) return;
  const title = grid.querySelector("title") ?? grid.appendChild(document.createElementNS(grid.namespaceURI, "title"));
  title.textContent = `${row[0].textContent}, ${head.cells[column].textContent}: ${row[column].textContent}`;
}, { passive: true });

// A tooltip near the right edge opens to the left.
for (const kind of ["pointerover", "focusin"])
  document.addEventListener(kind, (event) => {
    const value = event.target.closest?.(":is(.wb-value, .wb-quoted) a, a.wb-term");
    if (value) value.classList.toggle("wb-left", value.getBoundingClientRect().left > innerWidth / 2);
  });
