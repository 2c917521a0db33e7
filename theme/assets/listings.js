// Numbers beside a listing's lines, and links to them: #scores.cu-L12, or #scores.cu-L12-L18. Listings are numbered here
// and not in the page, which would weigh 3 % more; the pages of snippets/ carry an anchor for each line.

const listings = [...document.querySelectorAll(".highlight > pre > code[id]")].map((code) => {
  const name = code.id.replace(/:.*/, "");
  const ranges = (code.closest(".highlight").dataset.lines ?? `1-${code.textContent.trimEnd().split("\n").length}`).split(" ");
  const numbers = ranges.flatMap((range) => {
    const [first, last] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
  const gutter = document.createElement("span");
  gutter.className = "wb-gutter";
  gutter.ariaHidden = "true";
  gutter.textContent = numbers.map((line) => line || "").join("\n"); // 0: between two pieces of a file
  code.before(gutter);
  return { name, numbers, gutter, pre: code.parentElement };
});

// The lines that the address names, if a listing of this page has them.
function named() {
  const [, name, from, to = from] = /^#(.+?)-L(\d+)(?:-L(\d+))?$/.exec(decodeURIComponent(location.hash)) ?? [];
  const [first, last] = [from, to].map(Number).sort((a, b) => a - b);
  const found = listings.find((one) => one.name === name && one.numbers.some((line) => first <= line && line <= last));
  return found && { ...found, first, last };
}

function mark() {
  document.querySelectorAll(".wb-marked").forEach((old) => old.remove());
  const found = named();
  if (!found) return null;
  const rows = found.numbers.flatMap((line, i) => (found.first <= line && line <= found.last ? [i] : []));
  const marked = document.createElement("span");
  marked.className = "wb-marked";
  marked.style.setProperty("--from", rows[0]);
  marked.style.setProperty("--rows", rows.length);
  found.pre.append(marked);
  return marked;
}

function show() {
  const marked = mark();
  const folded = marked?.closest("details:not([open])");
  if (folded) folded.open = true;
  marked?.scrollIntoView({ block: "center" });
}

show();
addEventListener("hashchange", show);

// A click on a number links to its line, one with Shift to all lines since.
document.addEventListener("click", (event) => {
  const found = listings.find((one) => one.gutter === event.target);
  if (!found) return;
  const box = found.gutter.getBoundingClientRect(), style = getComputedStyle(found.gutter);
  const above = parseFloat(style.paddingTop), height = parseFloat(style.lineHeight);
  const row = Math.floor((event.clientY - box.top - above) / height);
  const line = found.numbers[Math.min(Math.max(row, 0), found.numbers.length - 1)];
  const before = event.shiftKey && named();
  const [first, last] = before?.name === found.name ? [before.first, line].sort((a, b) => a - b) : [line, line];
  history.replaceState(null, "", `#${found.name}-L${first}${last > first ? `-L${last}` : ""}`);
  mark();
});
