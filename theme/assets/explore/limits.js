// How many blocks of a kernel one multiprocessor holds, as the CUDA C++ Programming Guide defines it for compute capability
// 7.5 to 12.0. A test holds it against the driver's cuOccupancyMaxActiveBlocksPerMultiprocessor in softcuda.

export const WARP = 32;
const PARTITIONS = 4, LEAST_REGISTERS = 16, REGISTERS_AT_ONCE = 256;

const up = (number, step) => Math.ceil(number / step) * step;

// `device`: {major, threads, blocks, registers, shared (of an SM), optin, reserved (bytes of a block)}.
// `kernel`: {threads, registers (of a thread), shared (bytes of a block, static and dynamic)}.
// Blocks as far as each resource allows, and what an SM then holds of it.
export function occupancy(device, kernel) {
  const warps = Math.ceil(kernel.threads / WARP), warpsHeld = device.threads / WARP;
  const registersOfWarp = up(Math.max(kernel.registers, LEAST_REGISTERS) * WARP, REGISTERS_AT_ONCE);
  const warpsOfPartition = Math.floor(device.registers / PARTITIONS / registersOfWarp);
  const sharedOfBlock = up(kernel.shared + device.reserved, device.major >= 8 ? 128 : 256);
  const fits = kernel.shared <= device.optin;
  const limits = {
    warps: Math.floor(warpsHeld / warps),
    registers: Math.floor((warpsOfPartition * PARTITIONS) / warps),
    shared: !fits ? 0 : sharedOfBlock ? Math.floor(device.shared / sharedOfBlock) : Infinity,
    blocks: device.blocks,
  };
  const blocks = Math.min(...Object.values(limits));
  return {
    blocks,
    limits,
    limiting: Object.keys(limits).filter((name) => limits[name] === blocks),
    share: (blocks * warps) / warpsHeld,
    held: {
      warps: [blocks * warps, warpsHeld],
      registers: [blocks * warps * registersOfWarp, device.registers],
      shared: [blocks * sharedOfBlock, device.shared],
      blocks: [blocks, device.blocks],
    },
  };
}
