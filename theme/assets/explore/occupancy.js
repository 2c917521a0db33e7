// {{ explore:occupancy }}: how many warps an SM holds of a kernel, and what keeps it from holding more.
import { box, drawing, grouped, hatched, hatches, line, percent, share, template, text } from "./draw.js";
import { WARP, occupancy } from "./limits.js";

const PLOT = 168, TOP = 20, BOTTOM = 32, ROW = 40, BLOCK = 1024; // px; threads of a block at most
const RESOURCES = ["warps", "registers", "shared", "blocks"], COLOURS = [0, 1, 3, 5];

export const controls = [
  { name: "device", kind: "choice", value: "h200" },
  { name: "threads", kind: "range", min: 16, max: BLOCK, step: 16, value: 256 },
  { name: "registers", kind: "range", min: 16, max: 255, value: 64 },
  { name: "shared", kind: "range", min: 0, max: 228, value: 0 },
];

export const words = {
  en: {
    title: "Occupancy: the warps that an SM holds of a kernel, by the size of its blocks",
    controls: { device: "Device", threads: "Threads a block", registers: "Registers a thread", shared: "Shared (KiB)" },
    axis: "threads a block; as coloured below, what limits",
    resources: { warps: "warps", registers: "registers", shared: "shared memory", blocks: "block slots" },
    of: "{held} of {all}", kib: "{n} KiB", limits: "limit", and: " and ",
    said: "An SM holds {blocks:block|blocks} of {threads} threads, {warps} of {all} warps: {share} occupancy. {verdict}",
    limited: "What limits it: {names}.",
    no: "No block of {threads} threads fits on an SM: too much is asked of {names}.",
    numbers: { share: "occupancy", blocks: "blocks an SM", warps: "warps an SM", threads: "threads an SM" },
  },
  zh: {
    title: "占用率：一个 SM 能容纳的线程束数，随线程块大小变化",
    controls: { device: "设备", threads: "每块线程数", registers: "每线程寄存器", shared: "共享内存（KiB）" },
    axis: "每块线程数；颜色同下，表示受什么限制",
    resources: { warps: "线程束", registers: "寄存器", shared: "共享内存", blocks: "线程块槽位" },
    of: "{held} / {all}", kib: "{n} KiB", limits: "限制", and: "与",
    said: "一个 SM 容纳 {blocks} 个 {threads} 线程的线程块，占 {all} 个线程束槽位中的 {warps} 个：占用率 {share}。{verdict}",
    limited: "限制因素：{names}。",
    no: "{threads} 线程的线程块在一个 SM 上一个也放不下：{names}不够。",
    numbers: { share: "占用率", blocks: "每 SM 线程块数", warps: "每 SM 线程束", threads: "每 SM 线程" },
  },
};

export const kernel = ({ threads, registers, shared }) => ({ threads, registers, shared: shared * 1024 });

export function draw(state, said, devices, id) {
  const device = devices[state.device], asked = kernel(state), found = occupancy(device, asked);
  const names = found.limiting.map((name) => said.resources[name]).join(said.and);
  const [warps, all] = found.held.warps;
  const facts = { blocks: found.blocks, threads: state.threads, warps, all, share: percent(found.share) };
  const verdict = template(said.limited, { names });
  return {
    picture: staircase(device, asked, said, id) + meters(found, said, id),
    said: found.blocks ? template(said.said, { ...facts, verdict }) : template(said.no, { threads: state.threads, names }),
    numbers: { share: facts.share, blocks: found.blocks, warps, threads: found.blocks * state.threads },
  };
}

const down = (part) => TOP + (PLOT - TOP - BOTTOM) * (1 - part);

// A step for each number of warps that a block may have; the block at hand stands out.
function staircase(device, asked, said, id) {
  const out = [hatches(id, COLOURS)], own = Math.ceil(asked.threads / WARP), most = BLOCK / WARP;
  for (const part of [0, 0.5, 1]) {
    out.push(line("wb-grid", 0, down(part), 1, down(part)));
    out.push(text(0, down(part) - 3, percent(part), "start", "wb-halo"));
  }
  const left = 0.1, step = (1 - left) / most, at = (warps) => left + (warps - 1) * step;
  for (let warps = 1; warps <= most; ++warps) {
    const found = occupancy(device, { ...asked, threads: warps * WARP }), kind = RESOURCES.indexOf(found.limiting[0]);
    out.push(box(`wb-stair wb-s${COLOURS[kind]}`, at(warps), down(found.share), step, down(0) - down(found.share), hatched(id, kind)));
    if (warps % 8 === 0) out.push(text(warps === most ? 1 : at(warps) + step / 2, PLOT - 18, warps * WARP, warps === most ? "end" : "middle"));
    if (warps === own) {
      out.push(line("wb-follow", at(warps) + step / 2, down(found.share) - 4, at(warps) + step / 2, down(0)));
      out.push(`<svg class="wb-stair__point" x="${share(at(warps) + step / 2)}" y="${down(found.share)}"><circle r="4.5"/></svg>`);
      const end = warps > most / 2 ? "end" : "start";
      out.push(text(at(warps) + step / 2, down(found.share) - 9, `${asked.threads}: ${percent(found.share)}`, end, "wb-explore__own wb-halo"));
    }
  }
  out.push(text(1, PLOT - 3, said.axis, "end"));
  return drawing(PLOT, out.join(""));
}

// How full each resource of the SM is.
function meters(found, said, id) {
  const out = RESOURCES.map((name, i) => {
    const [held, all] = found.held[name], y = i * ROW, limits = found.limiting.includes(name);
    const number = (value) => (name === "shared" ? template(said.kib, { n: +(value / 1024).toFixed(1) }) : grouped(value));
    return text(0, y + 17, `${said.resources[name]}${limits ? ` · ${said.limits}` : ""}`, "start", limits ? "wb-explore__own" : "wb-explore__name")
      + text(1, y + 17, template(said.of, { held: number(held), all: number(all) }), "end")
      + box("wb-bar__track", 0, y + 24, 1, 10) + box(`wb-stair wb-s${COLOURS[i]}`, 0, y + 24, held / all, 10, hatched(id, i));
  });
  return drawing(RESOURCES.length * ROW, out.join(""));
}
