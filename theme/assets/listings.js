// Numbers beside a listing's lines, and links to them: #scores.cu-L12, or #scores.cu-L12-L18. Listings are numbered here
// and not in the page, which would weigh 3 % more; the pages of snippets/ carry an anchor for each line.

const SAYS = document.documentElement.lang.startsWith("zh")
  ? { keys: "的行号：方向键选行，回车链接到该行，Shift 加回车链接到从上次那行起的各行", line: "第 # 行：" }
  : { keys: " by line: arrow keys choose one, Enter links to it, Shift and Enter to all lines since", line: "line #: " };

const listings = [...document.querySelectorAll(".highlight > pre > code[id]")].map((code) => {
  const name = code.id.replace(/:.*/, "");
  const ranges = (code.closest(".highlight").dataset.lines ?? `1-${code.textContent.trimEnd().split("\n").length}`).split(" ");
  const numbers = ranges.flatMap((range) => {
    const [first, last] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
  const gutter = document.createElement("span");
  gutter.className = "wb-gutter";
  gutter.tabIndex = 0; // one stop for all lines
  gutter.role = "listbox";
  gutter.ariaLabel = name + SAYS.keys;
  const shown = gutter.appendChild(document.createElement("span"));
  shown.ariaHidden = "true";
  shown.textContent = numbers.map((line) => line || "").join("\n"); // 0: between two pieces of a file
  code.before(gutter);
  return { name, numbers, gutter, code, row: 0, pre: code.parentElement };
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
  const found = of(event.target);
  if (!found) return;
  const box = found.gutter.getBoundingClientRect(), style = getComputedStyle(found.gutter);
  const above = parseFloat(style.paddingTop), height = parseFloat(style.lineHeight);
  const row = Math.floor((event.clientY - box.top - above) / height);
  link(found, Math.min(Math.max(row, 0), found.numbers.length - 1), event.shiftKey);
});

const of = (target) => listings.find((one) => one.gutter.contains(target));

function link(found, row, since) {
  const line = found.numbers[row];
  const before = since && named();
  const [first, last] = before?.name === found.name ? [before.first, line].sort((a, b) => a - b) : [line, line];
  history.replaceState(null, "", `#${found.name}-L${first}${last > first ? `-L${last}` : ""}`);
  mark();
}

// By keyboard a listing's numbers are a list of which only the present line is there: hundreds of elements, or of stops,
// would be in everybody's way.
function come(found, row) {
  const { numbers, gutter, code } = found, marked = named();
  found.row = row;
  gutter.querySelector("[role=option]")?.remove();
  const option = gutter.appendChild(document.createElement("span"));
  option.className = "wb-gutter__line";
  option.role = "option";
  option.id = `${code.id}-line${row}`; // a new one is said aloud
  option.ariaLabel = SAYS.line.replace("#", numbers[row]) + code.textContent.split("\n")[row].trim();
  option.ariaPosInSet = row + 1;
  option.ariaSetSize = numbers.length;
  option.ariaSelected = String(marked?.name === found.name && marked.first <= numbers[row] && numbers[row] <= marked.last);
  option.style.setProperty("--row", row);
  gutter.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
}

document.addEventListener("focusin", (event) => {
  const found = of(event.target);
  if (found?.gutter.matches(":focus-visible")) come(found, found.row);
});
document.addEventListener("keydown", (event) => {
  const found = of(event.target);
  if (!found || event.ctrlKey || event.metaKey || event.altKey) return;
  const last = found.numbers.length - 1;
  const to = { ArrowDown: found.row + 1, ArrowUp: found.row - 1, PageDown: found.row + 10, PageUp: found.row - 10, Home: 0, End: last }[event.key];
  if (to === undefined && event.key !== "Enter") return;
  event.preventDefault();
  if (event.key === "Enter") link(found, found.row, event.shiftKey);
  let row = Math.min(Math.max(to ?? found.row, 0), last);
  if (!found.numbers[row]) row += Math.sign(row - found.row); // no line of the file
  come(found, row);
});
