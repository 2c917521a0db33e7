// {{ explore:banks }}: which banks of shared memory an index expression leads a warp's lanes to.
import { box, drawing, legend, line, template, text } from "./draw.js";
import { compile, Wrong } from "./expression.js";
import { BANKS, LANES, WORD, wavefronts } from "./memory.js";

const ROW = 9, TOP = 16; // px

export const presets = {
  one: { index: "x", size: 4, width: 32 },
  two: { index: "x * 2", size: 4, width: 32 },
  three: { index: "x * 3", size: 4, width: 32 },
  column: { index: "x * 32 + y", size: 4, width: 32 },
  padded: { index: "x * 33 + y", size: 4, width: 32 },
  swizzle: { index: "x * 32 + (x ^ y)", size: 4, width: 32 },
  same: { index: "y", size: 4, width: 32 },
  square: { index: "y * 16 + x", size: 4, width: 16 },
  wide: { index: "x", size: 16, width: 32 },
};
export const controls = [
  { name: "preset", kind: "choice", values: ["own", ...Object.keys(presets)], value: "column", wide: true },
  { name: "index", kind: "text", value: "x * 32 + y", wide: true },
  { name: "size", kind: "choice", values: [4, 8, 16], value: 4 },
  { name: "width", kind: "choice", values: [4, 8, 16, 32, 64, 128], value: 32 },
  { name: "warp", kind: "range", min: 0, max: 31, value: 0 },
];
export const NAMES = ["lane", "t", "x", "y", "warp", "threadIdx.x", "threadIdx.y"];

export const words = {
  en: {
    title: "A warp's lanes, and the banks of shared memory that they want",
    controls: { preset: "Pattern", index: "Index of s[…]", size: "Element", width: "Threads of a block in x", warp: "Warp of the block" },
    preset: {
      own: "your own", one: "a row: s[x]", two: "stride 2", three: "stride 3", column: "a column, 32 wide", padded: "a column, padded to 33",
      swizzle: "a column, swizzled by xor", same: "one word for all", square: "a tile of 16 × 16", wide: "float4: 16 bytes a lane",
    },
    size: { 4: "4 bytes", 8: "8 bytes", 16: "16 bytes" },
    names: "x, y: threadIdx.x and .y; also lane, warp, and t, the thread of the block",
    lane: "lane", bank: "bank", passes: "wavefronts",
    first: "served in the first wavefront", waits: "waits for a later one: the bank has other words to serve", rides: "served along with a lane that wants the same word",
    said: "{wavefronts:wavefront|wavefronts}, where {ideal} would do without conflicts: {verdict}",
    none: "no bank conflict.", conflict: "a {ways}-way bank conflict; the busiest bank, {bank}, serves {ways} different words.",
    numbers: { wavefronts: "wavefronts", ideal: "without conflicts", conflicts: "bank conflicts", ways: "words in the busiest bank", words: "different words" },
    wrong: {
      unknown: "“{what}” at place {at} is nothing an index can have.", name: "There is no “{what}” (place {at}); there are x, y, t, lane and warp.",
      open: "The parenthesis at place {at} is not closed.", operand: "Something is missing at place {at}.", more: "“{what}” at place {at} is one too many.",
      zero: "Division by zero at place {at}.", shift: "A shift by {what} bits at place {at}.", large: "{what} does not fit into an int (place {at}).",
      deep: "Too many parentheses at place {at}.", negative: "Lane {at} has the index {what}; it must not be negative.", far: "Lane {at} has the index {what}: no shared memory is that large.",
    },
  },
  zh: {
    title: "一个线程束的各 lane，以及它们要访问的共享内存 bank",
    controls: { preset: "模式", index: "s[…] 的下标", size: "元素", width: "线程块的 x 宽度", warp: "线程块中第几个线程束" },
    preset: {
      own: "自定义", one: "一行：s[x]", two: "步长 2", three: "步长 3", column: "一列，宽 32", padded: "一列，填充到 33",
      swizzle: "一列，异或重排", same: "同一个字", square: "16 × 16 的线程块", wide: "float4：每个 lane 16 字节",
    },
    size: { 4: "4 字节", 8: "8 字节", 16: "16 字节" },
    names: "x、y 即 threadIdx.x、.y；还有 lane、warp，以及块内线程号 t",
    lane: "lane", bank: "bank", passes: "波前",
    first: "第一个波前就取到", waits: "要等后面的波前：该 bank 还要给出别的字", rides: "与访问同一个字的 lane 一起取到",
    said: "{wavefronts} 个波前，没有冲突时只需 {ideal} 个：{verdict}",
    none: "没有 bank 冲突。", conflict: "{ways} 路 bank 冲突；最忙的 bank {bank} 要提供 {ways} 个不同的字。",
    numbers: { wavefronts: "波前", ideal: "无冲突时", conflicts: "bank 冲突", ways: "最忙 bank 的字数", words: "不同的字" },
    wrong: {
      unknown: "第 {at} 个字符处的“{what}”不能出现在下标里。", name: "没有“{what}”（第 {at} 个字符）；可用 x、y、t、lane、warp。",
      open: "第 {at} 个字符处的括号没有闭合。", operand: "第 {at} 个字符处缺少操作数。", more: "第 {at} 个字符处的“{what}”是多余的。",
      zero: "第 {at} 个字符处除以零。", shift: "第 {at} 个字符处移位 {what} 位。", large: "{what} 超出 int 的范围（第 {at} 个字符）。",
      deep: "第 {at} 个字符处括号太多。", negative: "lane {at} 的下标是 {what}，不能为负。", far: "lane {at} 的下标是 {what}：没有这么大的共享内存。",
    },
  },
};

// The index of each lane of the warp. Throws a Wrong.
export function indices({ index, width, warp }) {
  const compute = compile(index, NAMES);
  return Array.from({ length: LANES }, (_, lane) => {
    const t = warp * LANES + lane, x = t % width, y = Math.floor(t / width);
    return compute({ lane, t, x, y, warp, "threadIdx.x": x, "threadIdx.y": y });
  });
}

export function draw(state, said) {
  let found;
  try {
    found = indices(state);
    const lane = found.findIndex((index) => index < 0), far = found.findIndex((index) => index * state.size >= 2 ** 18);
    if (lane >= 0) throw new Wrong("negative", lane, String(found[lane]));
    if (far >= 0) throw new Wrong("far", far, String(found[far]));
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    return { wrong: template(said.wrong[error.key], error) };
  }
  const passes = wavefronts(found.map((index) => index * state.size), state.size);
  const worst = passes.groups.reduce((a, b) => (b.wavefronts > a.wavefronts ? b : a));
  const ways = worst.wavefronts, bank = worst.words.findIndex((one) => one.size === ways);
  const distinct = new Set(passes.groups.flatMap((group) => group.words.flatMap((one) => [...one.keys()])));
  const numbers = { wavefronts: passes.wavefronts, ideal: passes.ideal, conflicts: passes.wavefronts - passes.ideal, ways, words: distinct.size };
  return {
    picture: `<p class="wb-explore__names">${said.names}</p>` + grid(passes, said) + legend([
      ["wb-bank wb-bank--first", said.first], ["wb-bank wb-bank--waits", said.waits], ["wb-bank wb-bank--rides", said.rides],
    ]),
    said: template(said.said, { ...numbers, verdict: template(ways > 1 ? said.conflict : said.none, { ways, bank }) }),
    numbers,
  };
}

const HEIGHT = TOP + LANES * ROW + 4;

// Three drawings side by side: the lanes' numbers, lanes against banks, and the wavefronts of each part of the warp.
function grid(passes, said) {
  const left = [text(1, 10, said.lane, "end")], middle = [], right = [text(1, 10, said.passes, "end")];
  for (let lane = 0; lane < LANES; lane += 8) left.push(text(1, TOP + lane * ROW + 9, lane, "end"));
  middle.push(text(0, 10, `${said.bank} 0`, "start"));
  for (let bank = 8; bank < BANKS; bank += 8) middle.push(text(bank / BANKS, 10, bank, "start"));
  for (let part = 0; part < 16; ++part)
    middle.push(box("wb-bank__ground", (part % 4) / 4, TOP + Math.floor(part / 4) * 8 * ROW, 1 / 4 - 0.004, 8 * ROW - 2));
  for (const group of passes.groups) {
    const top = TOP + group.first * ROW;
    if (group.first) middle.push(line("wb-bank__border", 0, top - 1, 1, top - 1));
    right.push(text(1, top + (group.count * ROW) / 2 + 4, group.wavefronts, "end", "wb-explore__many"));
    group.words.forEach((words, bank) => [...words.values()].forEach((lanes, pass) => lanes.forEach((lane, i) => {
      const kind = i ? "rides" : pass ? "waits" : "first";
      middle.push(box(`wb-bank wb-bank--${kind}`, bank / BANKS + 0.002, TOP + lane * ROW, 1 / BANKS - 0.006, ROW - 2));
    })));
  }
  return `<div class="wb-explore__grid">${drawing(HEIGHT, left.join(""))}${drawing(HEIGHT, middle.join(""))}${drawing(HEIGHT, right.join(""))}</div>`;
}
