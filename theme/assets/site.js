// Small conveniences; every page works without them.

// Which device's outputs, charts and numbers are shown: one choice for all pages. Where a device has nothing, the first
// one's stay, and a number's tooltip says so.
const KEY = "warpbook.device";
const [NONE, STOP, PAUSE] = document.documentElement.lang.startsWith("zh")
  ? ["所选设备没有这个数值", "。", "；"] : ["the device you chose has no such number", ". ", "; "];

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

const label = (link, text, tip) => link.setAttribute("aria-label", `${text}${STOP}${tip.replaceAll("\n", PAUSE)}`);
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

// A long output that is folded again leaves what was pressed where it is.
document.addEventListener("click", (event) => {
  const fold = event.target.closest(".wb-output__fold[open]");
  if (!fold) return;
  const before = fold.getBoundingClientRect().top;
  event.preventDefault();
  fold.open = false;
  scrollBy(0, fold.getBoundingClientRect().top - before);
});

// The other language opens at the same section, whose heading has the same id there, with the same query.
document.addEventListener("click", (event) => {
  const link = event.target.closest(".wb-languages a");
  if (!link || link.hasAttribute("aria-current")) return;
  const above = [...document.querySelectorAll("article :is(h2, h3, h4)[id]")].filter((heading) => heading.getBoundingClientRect().top < 120);
  link.hash = above.at(-1)?.id ?? "";
  link.search = location.search;
});

// What is off the screen is laid out when it comes near, which moves the section that the address names away from the top:
// go there again until it lies still, or until the reader does something.
addEventListener("load", () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const goes = performance.getEntriesByType("navigation")[0]?.type === "navigate"; // else the reader is put back where they were
  if (!target?.matches("h2, h3, h4") || !goes) return;
  const end = performance.now() + 3000; // of a slow machine, where what is far above is laid out late
  let frames = 120, still = 0;
  for (const input of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(input, () => (frames = 0), { once: true, passive: true });
  requestAnimationFrame(function again() {
    if (frames-- <= 0 || still > 9 || performance.now() > end) return;
    const before = target.getBoundingClientRect().top;
    target.scrollIntoView({ behavior: "instant" });
    still = Math.abs(target.getBoundingClientRect().top - before) < 1 ? still + 1 : 0;
    requestAnimationFrame(again);
  });
});

// Text also comes to the search box without a key: pasted, spoken, from a method of input. Material listens to keys.
const box = document.querySelector(".md-search__input");
box?.addEventListener("input", () => box.dispatchEvent(new KeyboardEvent("keyup")));

// What Material's script adds to code blocks, named for screen readers; wide tables, scrolled by keyboard too.
const tables = new WeakSet();
const widths = new ResizeObserver((seen) => { // gets sizes after layout, and those off the screen only later
  for (const { target } of seen)
    for (const view of [target, target.parentElement]) // Material's script, where it is there, puts a box around the table
      if (view.scrollWidth > view.clientWidth && /auto|scroll/.test(getComputedStyle(view).overflowX)) view.tabIndex = 0;
});

function name() {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap > *, article table:not([class])"))
    if (!tables.has(table)) {
      tables.add(table);
      widths.observe(table);
    }
  for (const table of document.querySelectorAll(".md-typeset__table > table[tabindex]")) table.removeAttribute("tabindex");
  for (const nav of document.querySelectorAll("nav.md-code__nav:not([role])")) nav.setAttribute("role", "none");
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

// What a number or a term says stays on the screen; Escape puts it away; a finger's first tap opens it, and the second
// follows the link.
const TIPS = ":is(.wb-value, .wb-quoted) a, a.wb-term";
const SCROLLS = ".wb-claims, .wb-lines__view, .md-typeset__scrollwrap";

function put(link) {
  const box = link.getClientRects()[0], tip = getComputedStyle(link, "::after");
  const px = (...names) => names.reduce((sum, name) => sum + (parseFloat(tip[name]) || 0), 0);
  const width = px("width") + (tip.boxSizing === "border-box" ? 0 : px("paddingLeft", "paddingRight", "borderLeftWidth", "borderRightWidth"));
  const height = px("height") + (tip.boxSizing === "border-box" ? 0 : px("paddingTop", "paddingBottom", "borderTopWidth", "borderBottomWidth"));
  const all = link.getBoundingClientRect();
  const left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - width - 8));
  const top = all.bottom + height > innerHeight && all.top > height ? all.top - height : all.bottom;
  const fixed = Boolean(link.closest(SCROLLS)); // which would cut it off
  link.style.setProperty("--wb-tip", fixed ? "fixed" : "absolute");
  link.style.setProperty("--wb-tip-left", `${fixed ? left : left - box.left}px`);
  link.style.setProperty("--wb-tip-top", `${fixed ? top : top - all.top}px`);
}

function shut(except) {
  for (const link of document.querySelectorAll(".wb-open")) if (link !== except) link.classList.remove("wb-open");
}

for (const kind of ["pointerover", "focusin"])
  document.addEventListener(kind, (event) => {
    const link = event.target.closest?.(TIPS);
    if (link) put(link);
  });
for (const kind of ["pointerout", "focusout"])
  document.addEventListener(kind, (event) => {
    const link = event.target.closest?.(TIPS);
    if (link && !link.contains(event.relatedTarget)) link.classList.remove("wb-closed");
  });
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  document.querySelectorAll(`:is(${TIPS}):is(:hover, :focus)`).forEach((link) => link.classList.add("wb-closed"));
  shut();
});
document.addEventListener("click", (event) => {
  const link = event.target.closest(TIPS);
  shut(link);
  if (!link || event.pointerType !== "touch" || link.classList.contains("wb-open")) return;
  event.preventDefault();
  link.classList.add("wb-open");
  put(link);
}, true);
addEventListener("scroll", () => shut(), { passive: true });

// Material's table of contents glides after the page; it jumps for readers who want no motion.
if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
  const scrollTo = Element.prototype.scrollTo;
  Element.prototype.scrollTo = function (...where) {
    if (where[0]?.behavior) where[0] = { ...where[0], behavior: "instant" };
    scrollTo.apply(this, where);
  };
}

// An old address of a section, a listing or lines of a program that are on another page now leads there. The page names
// them on a list at its end.
function follow() {
  const anchor = decodeURIComponent(location.hash.slice(1)), file = /^(.+?)-L\d/.exec(anchor)?.[1];
  const old = file ? document.querySelector(`.wb-moved [id^="${CSS.escape(file)}:"]`) : document.getElementById(anchor);
  const page = old?.closest(".wb-moved li")?.querySelector("a:not([id])").href;
  if (page) location.replace(old.href ?? page + (old.dataset.to ? `#${old.dataset.to}` : location.hash));
}
follow();
addEventListener("hashchange", follow);

// What a reader has done (an exercise) or read (an article): a box for each, which this browser alone keeps, with the day.
{
  const boxes = [...document.querySelectorAll(".wb-done")].map((place) => {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", autocomplete: "off" }), label = document.createElement("label");
    const key = place.dataset.read ? `warpbook.read:${place.dataset.read}` : `warpbook.done:${place.dataset.done}`;
    box.setAttribute("aria-label", place.title);
    box.addEventListener("change", () => {
      try {
        if (box.checked) localStorage.setItem(key, new Date().toISOString().slice(0, 10));
        else localStorage.removeItem(key);
      } catch { /* private window */ }
    });
    label.append(box, ...place.childNodes);
    place.append(label);
    return [box, key];
  });
  const show = () => {
    try { for (const [box, key] of boxes) box.checked = localStorage.getItem(key) !== null; } catch { /* private window */ }
  };
  show();
  for (const event of ["storage", "pageshow"]) addEventListener(event, show); // another page of the book has changed it
}
