// Small conveniences; every page works without them.

// Which device's output is shown: one choice for all blocks and pages.
const KEY = "warpbook.device";

function choose(device) {
  for (const box of document.querySelectorAll(".wb-output")) {
    const panes = [...box.querySelectorAll("pre[data-device]")];
    if (!panes.some((pane) => pane.dataset.device === device)) continue;
    for (const pane of panes) pane.hidden = pane.dataset.device !== device;
    for (const button of box.querySelectorAll("button[data-device]"))
      button.setAttribute("aria-pressed", String(button.dataset.device === device));
  }
}

function remembered() {
  try { return localStorage.getItem(KEY); } catch { return null; }
}

if (remembered()) choose(remembered());

document.addEventListener("click", (event) => {
  const button = event.target.closest(".wb-switch button");
  if (!button) return;
  const before = button.getBoundingClientRect().top;
  choose(button.dataset.device);
  scrollBy(0, button.getBoundingClientRect().top - before); // outputs above may have changed height
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

// What Material's script adds to code blocks, named for those who hear the page.
const word = document.documentElement.lang === "zh" ? "注" : "Note";

function name() {
  for (const nav of document.querySelectorAll("nav.md-code__nav:not([role])")) nav.setAttribute("role", "none");
  for (const mark of document.querySelectorAll("a.md-annotation__index:not([aria-label])"))
    mark.setAttribute("aria-label", `${word} ${mark.querySelector("[data-md-annotation-id]")?.dataset.mdAnnotationId ?? ""}`);
}

name();
new MutationObserver(name).observe(document.body, { childList: true, subtree: true });

// A tooltip near the right edge opens to the left.
for (const kind of ["pointerover", "focusin"])
  document.addEventListener(kind, (event) => {
    const value = event.target.closest?.(":is(.wb-value, .wb-quoted) a");
    if (value) value.classList.toggle("wb-left", value.getBoundingClientRect().left > innerWidth / 2);
  });
