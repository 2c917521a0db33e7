// {{ explore:sectors }}: which 32-byte sectors of global memory one warp instruction moves.
import { box, drawing, legend, line, percent, share, template, text } from "./draw.js";
import { LANES, LINE, SECTOR, lines, sectors } from "./memory.js";

const SHOWN = 32, ACROSS = 4, PARTS = LINE / SECTOR; // lines in the drawing, lines side by side, sectors of a line
const TOP = 66, ROW = 42, GAP = 0.012; // px, and a share of the width between lines

export const presets = {
  unit: { stride: 1, offset: 0 },
  offset: { stride: 1, offset: 1 },
  two: { stride: 2, offset: 0 },
  struct: { size: 4, stride: 3, offset: 0 },
  field: { size: 4, stride: 8, offset: 2 },
  vector: { size: 16, stride: 1, offset: 0 },
  column: { size: 4, stride: 64, offset: 0 },
  same: { stride: 0, offset: 0 },
};
export const controls = [
  { name: "preset", kind: "choice", values: ["own", ...Object.keys(presets)], value: "unit", wide: true },
  { name: "size", kind: "choice", values: [1, 2, 4, 8, 16], value: 4 },
  { name: "stride", kind: "range", min: 0, max: 64, value: 1 },
  { name: "offset", kind: "range", min: 0, max: 64, value: 0 },
  { name: "lanes", kind: "range", min: 1, max: LANES, value: LANES },
  { name: "follow", kind: "range", min: 0, max: LANES - 1, value: 5 },
];

export const words = {
  en: {
    title: "A warp's lanes, and the sectors of global memory that they move",
    controls: { preset: "Pattern", size: "Element", stride: "Stride", offset: "Offset", lanes: "Active lanes", follow: "Follow lane" },
    preset: {
      own: "your own", unit: "neighbours: a[i]", offset: "shifted by one: a[i + 1]", two: "every second: a[2 * i]",
      struct: "x of struct {x, y, z}", field: "third of eight fields", vector: "float4: 16 bytes a lane",
      column: "column of a 64-wide matrix", same: "all lanes the same: a[0]",
    },
    size: { 1: "1 byte", 2: "2 bytes", 4: "4 bytes", 8: "8 bytes", 16: "16 bytes" },
    lane: "lane", memory: "memory, and how many lanes each sector serves", full: "all 32 bytes asked for", part: "some of them; the bar says which", none: "not moved",
    said: "One request moves {sectors:sector|sectors} in {lines:line|lines}: {moved} bytes, of which {asked} were asked for ({share}). {lane}",
    at: "Lane {lane} wants {bytes}: sector {sector} of the line at {line}.",
    byte: "byte {from}", bytes: "bytes {from} to {to}",
    idle: "Lane {lane} is not active.",
    numbers: { sectors: "sectors a request", lines: "lines", wanted: "lanes × bytes each", moved: "bytes moved", share: "of these asked for", least: "sectors at the least" },
  },
  zh: {
    title: "一个线程束的各 lane，以及它们搬运的全局内存扇区",
    controls: { preset: "模式", size: "元素", stride: "步长", offset: "偏移", lanes: "活跃 lane", follow: "跟踪 lane" },
    preset: {
      own: "自定义", unit: "相邻：a[i]", offset: "错开一个：a[i + 1]", two: "每隔一个：a[2 * i]",
      struct: "结构体 {x, y, z} 的 x", field: "八个字段中的第三个", vector: "float4：每个 lane 16 字节",
      column: "宽 64 的矩阵的一列", same: "各 lane 相同：a[0]",
    },
    size: { 1: "1 字节", 2: "2 字节", 4: "4 字节", 8: "8 字节", 16: "16 字节" },
    lane: "lane", memory: "内存，以及每个扇区服务的 lane 数", full: "32 个字节全部用到", part: "只用到一部分，下方横条标出是哪些", none: "不搬运",
    said: "一次请求搬运 {sectors} 个扇区，分布在 {lines} 条缓存行：共 {moved} 字节，其中 {asked} 字节是 lane 请求的（{share}）。{lane}",
    at: "lane {lane} 请求{bytes}：起始于 {line} 的缓存行中的扇区 {sector}。",
    byte: "字节 {from}", bytes: "字节 {from} 到 {to}",
    idle: "lane {lane} 不活跃。",
    numbers: { sectors: "每次请求的扇区", lines: "缓存行", wanted: "lane 数 × 字节数", moved: "搬运字节", share: "其中用到", least: "最少需要的扇区" },
  },
};

export const addresses = ({ size, stride, offset, lanes }) =>
  Array.from({ length: LANES }, (_, lane) => (lane < lanes ? (lane * stride + offset) * size : null));

export function draw(state, said) {
  const named = addresses(state), touched = sectors(named, state.size), inLines = lines(touched);
  const asked = touched.reduce((sum, sector) => sum + sector.asked.size, 0), moved = touched.length * SECTOR;
  const numbers = {
    sectors: touched.length, lines: inLines.length, wanted: state.lanes * state.size, moved, share: percent(asked / moved),
    least: Math.ceil(asked / SECTOR),
  };
  const place = placed(inLines);
  return {
    picture: drawing(TOP + (SHOWN / ACROSS) * ROW, memory(touched, place) + warp(named, said) + followed(state, named, place)) + legend([
      ["wb-sector wb-sector--full", said.full], ["wb-sector wb-sector--part", said.part], ["wb-sector wb-sector--none", said.none],
    ]),
    said: template(said.said, { ...numbers, asked, lane: about(state, named, said) }),
    numbers,
  };
}

// Where the lines stand: one after the other from the first that is touched; where those are too many, only touched ones.
function placed(touched) {
  const span = touched.at(-1) - touched[0] + 1;
  const shown = span <= SHOWN ? Array.from({ length: SHOWN }, (_, i) => touched[0] + i) : touched;
  return new Map(shown.map((at, i) => [at, { x: (i % ACROSS) * (LINE_WIDTH + GAP), y: TOP + Math.floor(i / ACROSS) * ROW, gap: i > 0 && at !== shown[i - 1] + 1 }]));
}

const LINE_WIDTH = (1 - (ACROSS - 1) * GAP) / ACROSS, CELL = LINE_WIDTH / PARTS;

function memory(touched, place) {
  const found = new Map(touched.map((sector) => [sector.at, sector])), out = [];
  for (const [at, { x, y, gap }] of place) {
    out.push(text(x, y + 9, `${gap ? "… " : ""}${at * LINE}`, "start"));
    for (let part = 0; part < PARTS; ++part) {
      const sector = found.get(at * PARTS + part), left = x + part * CELL;
      const kind = !sector ? "none" : sector.asked.size === SECTOR ? "full" : "part";
      out.push(box(`wb-sector wb-sector--${kind}`, left, y + 13, CELL - 0.003, 17));
      if (!sector) continue;
      out.push(text(left + CELL / 2, y + 26, sector.lanes.length, "middle", `wb-sector__lanes wb-sector__lanes--${kind}`));
      if (kind === "part") for (const [from, to] of runs(sector.asked))
        out.push(box("wb-sector__bytes", left + ((CELL - 0.003) * from) / SECTOR, y + 31, ((CELL - 0.003) * (to - from)) / SECTOR, 3));
    }
  }
  return out.join("");
}

function runs(bytes) {
  const out = [];
  for (const byte of [...bytes].sort((a, b) => a - b)) {
    if (out.length && out.at(-1)[1] === byte) out.at(-1)[1] = byte + 1;
    else out.push([byte, byte + 1]);
  }
  return out;
}

const across = (lane) => lane / LANES + Math.floor(lane / 8) * 0.002;

function warp(named, said) {
  const out = [text(0, 10, said.lane, "start"), text(0, TOP - 6, said.memory, "start")];
  named.forEach((address, lane) => {
    out.push(box(`wb-lane${address === null ? " wb-lane--idle" : ""}`, across(lane), 15, 1 / LANES - 0.005, 12));
    if (lane % 8 === 0 && lane) out.push(text(across(lane), 10, lane, "start"));
  });
  return out.join("");
}

function followed({ follow, size }, named, place) {
  const from = across(follow) + 0.5 / LANES - 0.0025;
  const mark = `<rect class="wb-follow" x="${share(across(follow))}" y="14" width="${share(1 / LANES - 0.005)}" height="14"/>`;
  if (named[follow] === null) return mark;
  const at = Math.floor(named[follow] / LINE), byte = named[follow] - at * LINE, { x, y } = place.get(at);
  const left = x + Math.floor(byte / SECTOR) * CELL + ((byte % SECTOR) / SECTOR) * (CELL - 0.003);
  const width = ((CELL - 0.003) * size) / SECTOR;
  return mark + line("wb-follow", from, 28, left + width / 2, y + 13) + box("wb-follow", left, y + 13, width, 22);
}

function about({ follow, size }, named, said) {
  if (named[follow] === null) return template(said.idle, { lane: follow });
  const from = named[follow], at = Math.floor(from / LINE);
  const bytes = template(size === 1 ? said.byte : said.bytes, { from, to: from + size - 1 });
  return template(said.at, { lane: follow, bytes, sector: Math.floor((from - at * LINE) / SECTOR), line: at * LINE });
}
