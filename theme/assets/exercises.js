// Which exercises are done: a box for each that the reader may tick. Under `make serve` the workbench ticks it where an answer is
// right (theme/workbench/workbench.js), and my/.progress.json knows of those that were judged in a terminal.

const key = (name) => `warpbook.done:${name}`; // the day

function remembered(name) {
  try { return localStorage.getItem(key(name)); } catch { return null; }
}

function remember(name, isDone) {
  try {
    if (isDone) localStorage.setItem(key(name), new Date().toISOString().slice(0, 10));
    else localStorage.removeItem(key(name));
  } catch { /* private window */ }
}

const boxes = new Map();
for (const place of document.querySelectorAll(".wb-done")) {
  const name = place.dataset.done, box = Object.assign(document.createElement("input"), { type: "checkbox", autocomplete: "off" });
  box.setAttribute("aria-label", place.title);
  box.addEventListener("change", () => remember(name, box.checked));
  place.replaceChildren(box);
  boxes.set(name, box);
}

function show() {
  for (const [name, box] of boxes) box.checked = remembered(name) !== null;
}

show();
for (const event of ["storage", "pageshow"]) addEventListener(event, show); // another page of the book has changed it

// The workbench, where the server has put it behind this script.
addEventListener("DOMContentLoaded", async () => {
  if (!document.querySelector('script[src^="/_workbench/"]')) return;
  try {
    const { done } = await (await fetch("/_workbench/session")).json();
    for (const [name, isDone] of Object.entries(done)) if (isDone && remembered(name) === null) remember(name, true);
    show();
  } catch { /* the browser's own notes are shown */ }
});
