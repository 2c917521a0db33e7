// HTML and SVG as text: the same functions draw at build, in Node, and in the reader's browser. Lengths along x are shares
// of the width, so that a figure on a telephone is narrower and its text is not smaller.

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
export const escaped = (text) => String(text).replace(/[&<>"]/g, (character) => ESCAPES[character]);
export const share = (number) => `${+(100 * number).toFixed(3)}%`;

const attributes = (given) => Object.entries(given).map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
export const box = (style, x, y, width, height, more = {}) =>
  `<rect class="${style}"${attributes({ x: share(x), y, width: share(width), height, ...more })}/>`;
export const line = (style, x1, y1, x2, y2) =>
  `<line class="${style}"${attributes({ x1: share(x1), y1, x2: share(x2), y2 })}/>`;
export const text = (x, y, said, anchor = "middle", style = "") =>
  `<text${attributes({ x: share(x), y, "text-anchor": anchor, ...(style && { class: style }) })}>${escaped(said)}</text>`;
export const drawing = (height, content) => `<svg width="100%" height="${height}" aria-hidden="true">${content}</svg>`;

// Hatchings, one a kind, so that not only colour distinguishes them; the first kind is solid.
const HATCHES = ["", '<path d="M-2 2 2-2M0 8 8 0M6 10 10 6"/>', '<circle cx="2" cy="2" r="1.1"/><circle cx="6" cy="6" r="1.1"/>', '<path d="M2 0v8M6 0v8"/>'];
export const hatches = (id, colours) =>
  `<defs>${colours.map((colour, kind) => kind && `<pattern id="${id}-${kind}" class="wb-hatch wb-s${colour}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8"/><g>${HATCHES[kind]}</g></pattern>`).filter(Boolean).join("")}</defs>`;
export const hatched = (id, kind) => (kind ? { fill: `url(#${id}-${kind})` } : {});

// Which box means what. `entries`: [style of a box, its meaning].
export const legend = (entries) =>
  `<ul class="wb-legend">${entries
    .map(([style, meaning]) => `<li><svg width="16" height="12" aria-hidden="true"><rect class="${style}" x="1" y="1" width="14" height="10"/></svg>${escaped(meaning)}</li>`)
    .join("")}</ul>`;

// "{n} of {all}", and "{n:line|lines}" for "1 line" or "2 lines".
export const template = (pattern, values) =>
  pattern.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (_, name, one, many) =>
    one === undefined ? values[name] : `${values[name]}\u00a0${values[name] === 1 ? one : many}`);
export const percent = (number) => `${+(100 * number).toFixed(1)}\u00a0%`;
export const grouped = (number) => (number < 10000 ? `${number}` : `${number}`.replace(/\B(?=(\d{3})+$)/g, "\u202f"));
