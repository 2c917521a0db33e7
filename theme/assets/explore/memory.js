// What one warp instruction asks of the memory system, from its lanes' addresses alone. A test holds these functions
// against what softcuda counts for real kernels, and that was held against an H200.

export const LANES = 32, SECTOR = 32, LINE = 128, BANKS = 32, WORD = 4;

// A part of the lanes as a list of 32 addresses, null where a lane does not take part.
const taking = (addresses) => addresses.flatMap((address, lane) => (address === null ? [] : [{ lane, address }]));

// Global memory: the 32-byte sectors that are moved, in rising order, each with the lanes and the bytes asked of it.
// An access is aligned to its size, so it lies in one.
export function sectors(addresses, size) {
  const found = new Map();
  for (const { lane, address } of taking(addresses)) {
    const at = Math.floor(address / SECTOR);
    if (!found.has(at)) found.set(at, { at, lanes: [], asked: new Set() });
    const sector = found.get(at);
    sector.lanes.push(lane);
    for (let byte = 0; byte < size; ++byte) sector.asked.add(address - at * SECTOR + byte);
  }
  return [...found.values()].sort((a, b) => a.at - b.at);
}

export const lines = (touched) => [...new Set(touched.map(({ at }) => Math.floor((at * SECTOR) / LINE)))];

// Shared memory: in each wavefront a bank serves one 4-byte word, to however many lanes want it.
//
// Lanes with 8 bytes come in two halves of a warp, with 16 bytes in four quarters. Two neighbouring parts become one
// where every lane i wants what lane i ^ 1 wants, or every lane what lane i ^ 2 does (lanes that do not take part agree
// with all); the halves of 16-byte accesses stay apart.
export function wavefronts(offsets, size) {
  const parts = size <= WORD ? 1 : size / WORD, whole = size <= 8 ? LANES : LANES / 2, groups = [];
  for (let first = 0; first < LANES; first += whole) {
    const together = [1, 2].some((step) => paired(offsets, first, whole, step));
    const width = together ? whole : LANES / parts;
    for (let at = first; at < first + whole; at += width) {
      const group = served(offsets, size, at, width);
      if (group.wavefronts) groups.push(group);
    }
  }
  return { groups, wavefronts: groups.reduce((sum, group) => sum + group.wavefronts, 0), ideal: groups.length };
}

function paired(offsets, first, count, step) {
  for (let lane = first; lane < first + count; ++lane) {
    const own = offsets[lane], other = offsets[lane ^ step];
    if (own !== null && other !== null && own !== other) return false;
  }
  return true;
}

// The distinct words that each bank has to serve to these lanes; as many wavefronts as the busiest bank has words.
function served(offsets, size, first, count) {
  const words = Array.from({ length: BANKS }, () => new Map()); // word → the lanes that want it
  for (let lane = first; lane < first + count; ++lane) {
    if (offsets[lane] === null) continue;
    const from = Math.floor(offsets[lane] / WORD), to = Math.floor((offsets[lane] + size - 1) / WORD);
    for (let word = from; word <= to; ++word) {
      const bank = words[word % BANKS];
      bank.set(word, [...(bank.get(word) ?? []), lane]);
    }
  }
  return { first, count, words, wavefronts: Math.max(...words.map((bank) => bank.size)) };
}
