"""Kernels of tensor copies and wgmma whose counters Nsight Compute reads on a GPU.

    python counters.py               launches each kernel once, in order
    python counters.py --read FILE   reads the metrics of METRICS through ncu, and writes FILE
    python counters.py --survey FILE reads every counter whose name matches SURVEY

Blocks do nothing else: shared memory is left as it is, and copies are only waited for.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from hopper.cases import kernel
from hopper.copies import box_bytes, load_copy, store_copy
from hopper.driver import Module, launch
from hopper.maps import TensorMap
from hopper.products import CORE, Form, descriptor

GRID = 32
METRICS = (
    "l1tex__data_pipe_lsu_wavefronts_mem_shared",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma",
    "l1tex__lsuin_requests_op_gmma",
    "l1tex__m_l1tex2xbar_read_requests_mem_global_op_tma_ld_dest_multicast",
    "l1tex__m_l1tex2xbar_read_requests_mem_global_op_tma_ld_dest_multicast_size_128B",
    "l1tex__m_l1tex2xbar_write_bytes_mem_dshared_op_tma_st",
    "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_red",
    "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st",
    "l1tex__m_l1tex2xbar_write_bytes_pipe_tma",
    "l1tex__m_l1tex2xbar_write_sectors",
    "l1tex__m_l1tex2xbar_write_sectors_mem_dshared_op_tma_st",
    "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_red",
    "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st",
    "l1tex__m_l1tex2xbar_write_sectors_pipe_tma",
    "l1tex__m_xbar2l1tex_read_bytes_mem_dshared_op_tma_st",
    "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld",
    "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_multicast",
    "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_self",
    "l1tex__m_xbar2l1tex_read_bytes_pipe_tma",
    "l1tex__m_xbar2l1tex_read_sectors",
    "l1tex__m_xbar2l1tex_read_sectors_mem_dshared_op_tma_st",
    "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld",
    "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld_dest_multicast",
    "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld_dest_self",
    "l1tex__m_xbar2l1tex_read_sectors_pipe_tma",
    "l1tex__tmain_requests",
    "lts__t_requests_srcunit_tex",
    "lts__t_requests_srcunit_tex_op_read",
    "lts__t_requests_srcunit_tex_op_write",
    "lts__t_sectors_srcunit_tex",
    "lts__t_sectors_srcunit_tex_lookup_hit",
    "lts__t_sectors_srcunit_tex_lookup_miss",
    "lts__t_sectors_srcunit_tex_op_read",
    "lts__t_sectors_srcunit_tex_op_red",
    "lts__t_sectors_srcunit_tex_op_write",
    "sm__inst_executed_pipe_tensor_op_gmma",
    "sm__inst_executed_pipe_tma",
    "sm__inst_executed_pipe_tma_pred_on_any",
    "sm__ops_path_tensor_op_hgmma_src_fp16",
    "sm__ops_path_tensor_op_hgmma_src_tf32_dst_fp32",
    "sm__ops_path_tensor_op_igmma_src_int8",
    "sm__sass_data_bytes_mem_shared_op_gmma",
    "sm__sass_inst_executed_op_dshared_tma_st",
    "sm__sass_inst_executed_op_shared_gmma",
    "sm__sass_inst_executed_op_tma",
    "sm__sass_inst_executed_op_tma_ld",
    "sm__sass_inst_executed_op_tma_red",
    "sm__sass_inst_executed_op_tma_st",
    "smsp__inst_executed",
)
SURVEY = re.compile(r"^[a-z0-9]+__\w*(tma|gmma)\w*$")


@dataclass(frozen=True)
class Counted:
    name: str
    source: str
    shared: int
    tensor_map: TensorMap | None = None
    grid: int = GRID
    about: str = ""


DECLARE = """
.reg .b32 %c<5>, %shared, %barrier, %row, %rank; .reg .b64 %map, %policy; .reg .b16 %o<3>, %mask16;
mov.b64 %map, k_map; cvta.param.u64 %map, %map; mov.b16 %o0, 0; mov.b16 %o1, 0; mov.b16 %o2, 0;
mov.u32 %c0, 0; mov.u32 %c1, 0; mov.u32 %c2, 0; mov.u32 %c3, 0; mov.u32 %c4, 0; mov.u32 %shared, %m;
"""


def waiting(copy: str, size: int, place: str, cluster: int = 1, expect: int | None = None) -> str:
    """Thread 0 copies `size` bytes into shared memory and waits."""
    meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" if cluster > 1 else ""
    return kernel(
        f"""{DECLARE}
add.u32 %barrier, %m, {-(-size // 128) * 128}; setp.eq.u32 %p, %t, 0; {place}
@!%p bra ready;
mbarrier.init.shared::cta.b64 [%barrier], 1; fence.mbarrier_init.release.cluster; fence.proxy.async;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%barrier], {expect or size};
ready: {meet}
@!%p bra all;
{copy}
mov.u32 %x, 0;
again: mbarrier.try_wait.parity.shared::cta.b64 %q, [%barrier], 0;
add.u32 %x, %x, 1; setp.lt.and.u32 %q, %x, 1000, !%q;
@%q bra again;
all: {meet}""",
        f".explicitcluster .reqnctapercluster {cluster}, 1, 1" if cluster > 1 else "",
    )


def storing(copy: str, place: str) -> str:
    return kernel(
        f"""{DECLARE}
setp.ne.u32 %p, %t, 0; {place}
@%p ret;
{copy} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""
    )


DOWN = "mul.lo.u32 %c1, %block, 64;"  # a block a tile: 64 rows further down
TILE = TensorMap(6, (1024, 2048), (2048,), (64, 64))


def copies() -> list[Counted]:
    def load(name: str, made: TensorMap, place: str = DOWN, about: str = "") -> Counted:
        source = waiting(load_copy(len(made.dims), made.im2col), box_bytes(made), place)
        return Counted(name, source, 65536, made, about=about)

    def store(name: str, made: TensorMap, operation: str = "", place: str = DOWN) -> Counted:
        return Counted(name, storing(store_copy(len(made.dims), made.im2col, operation), place), 65536, made)

    narrow = replace(TILE, box=(8, 64))
    rows = TensorMap(7, (1024, 2048), (4096,), (32, 64))
    pixels = TensorMap(6, (64, 32, 32, 8), (128, 4096, 131072), lower=(-1, -1), upper=(-1, -1), channels=64, pixels=64)
    half = replace(TILE, dims=(32, 2048))
    bulk = (
        "mad.wide.u32 %w, %block, 8192, %in; "
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%shared], [%w], 8192, [%barrier];"
    )
    back = "mad.wide.u32 %w, %block, 8192, %out; cp.async.bulk.global.shared::cta.bulk_group [%w], [%shared], 8192;"
    added = (
        "mad.wide.u32 %w, %block, 8192, %out; "
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%w], [%shared], 8192;"
    )
    whole = replace(TILE, box=(64, 32))
    cast = (
        "mov.u32 %rank, %cluster_ctarank; mad.lo.u32 %shared, %rank, 4096, %m; shr.u32 %c1, %block, 1; "
        "mul.lo.u32 %c1, %c1, 64; "
        f"mad.lo.u32 %c1, %rank, 32, %c1; mov.b16 %mask16, 3; {load_copy(2, multicast=True)}"
    )
    peer = (
        "mov.u32 %rank, %cluster_ctarank; xor.b32 %x, %rank, 1; mapa.shared::cluster.u32 %y, %m, %x; "
        "mapa.shared::cluster.u32 %z, %barrier, %x; "
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
        "[%y], [%m], 8192, [%z];"
    )
    return [
        load("tile_load", TILE),
        load("tile_load_swizzle_128", replace(TILE, swizzle=3)),
        load("tile_load_again", TILE, "mov.u32 %c1, 0;"),
        load("tile_load_half_outside", half),
        load("tile_load_outside", TILE, "mov.u32 %c1, 4096;"),
        load("tile_load_narrow", narrow),
        load("tile_load_narrow_promoted", replace(narrow, promotion=3)),
        load("tile_load_every_2", replace(TILE, box=(64, 128), steps=(1, 2)), "mul.lo.u32 %c1, %block, 32;"),
        load("tile_load_f32", rows),
        load("im2col_load", pixels, "shr.u32 %c3, %block, 2; sub.u32 %c1, %c1, 1; sub.u32 %c2, %c2, 1;"),
        Counted("tile_load_multicast_2", waiting(cast, 8192, "", 2), 65536, whole),
        store("tile_store", TILE),
        store("tile_store_narrow", narrow),
        store("tile_store_half_outside", half),
        store("tile_add_f32", rows, "add"),
        Counted("bulk_load", waiting(bulk, 8192, ""), 65536),
        Counted("bulk_store", storing(back, ""), 65536),
        Counted("bulk_add_f32", storing(added, ""), 65536),
        Counted("bulk_to_peer", waiting(peer, 8192, "", 2), 65536),
    ]


def product(name: str, form: Form, a: int, b: int, times: int = 8) -> Counted:
    """Each block: `times` products of whatever lies in shared memory, in one group."""
    d = "".join(f"mov.b32 %d{i}, 0; " for i in range(form.results))
    text = "\n".join([form.instruction] * times)
    source = kernel(
        f"""
.reg .b64 %desc_a, %desc_b; .reg .b32 %a<4>, %d<{form.results}>, %meta;
mov.b32 %a0, %t; mov.b32 %a1, %t; mov.b32 %a2, %t; mov.b32 %a3, %t; {d}
shr.u32 %x, %m, 4; cvt.u64.u32 %w2, %x; add.u64 %desc_a, %w2, {a}; add.u64 %desc_b, %w2, {b}; setp.ne.b32 %p, %m, 0;
wgmma.fence.sync.aligned;
{text}
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
mad.wide.u32 %w3, %t, 4, %out;
{"".join(f"st.global.b32 [%w3+{512 * i}], %d{i}; " for i in range(form.results))}"""
    )
    return Counted(name, source, 65536)


def products() -> list[Counted]:
    plain_a, swizzled_a = descriptor(0, CORE, 2 * CORE), descriptor(0, 16, 1024, 128)

    def plain_b() -> int:
        return descriptor(16384, CORE, 2 * CORE)

    swizzled_b = descriptor(16384, 16, 1024, 128)
    columns_b = descriptor(16384, 8192, 1024, 128)
    return [
        product("wgmma_n64_shared", Form("f32", "f16", "f16", 64, False), plain_a, plain_b()),
        product("wgmma_n64_swizzle_128", Form("f32", "f16", "f16", 64, False), swizzled_a, swizzled_b),
        product("wgmma_n64_registers", Form("f32", "f16", "f16", 64, True), 0, swizzled_b),
        product("wgmma_n8_registers", Form("f32", "f16", "f16", 8, True), 0, swizzled_b),
        product("wgmma_n256_swizzle_128", Form("f32", "f16", "f16", 256, False), swizzled_a, swizzled_b),
        product("wgmma_n128_transposed", Form("f32", "f16", "f16", 128, True, (1, 1), (0, 1)), 0, columns_b),
        product("wgmma_n64_tf32", Form("f32", "tf32", "tf32", 64, False), swizzled_a, swizzled_b),
        product("wgmma_n64_e4m3", Form("f32", "e4m3", "e4m3", 64, False), swizzled_a, swizzled_b),
        product("wgmma_n64_s8", Form("s32", "s8", "s8", 64, False), swizzled_a, swizzled_b),
        product("wgmma_n64_conflicts", Form("f32", "f16", "f16", 64, True), 0, descriptor(16384, 2048, 256)),
    ]


def kernels() -> list[Counted]:
    return [*copies(), *products()]


def launch_all(names: list[str]) -> None:
    import pycuda.autoinit  # noqa: F401
    import pycuda.driver as cuda

    room = 16 << 20
    source, target = cuda.mem_alloc(room), cuda.mem_alloc(room)
    cuda.memset_d32(source, 0, room // 4)
    cuda.memset_d32(target, 0, room // 4)
    for counted in kernels():
        if names and counted.name not in names:
            continue
        text = counted.source.replace(".entry k(", f".entry {counted.name}(")
        function = Module(text).function(counted.name)
        encoded = np.zeros(128, np.uint8)
        if counted.tensor_map is not None:
            code, encoded = counted.tensor_map.encode(int(source))
            assert code == 0, counted.name
        launch(function, int(target), int(source), encoded, counted.grid, 128, counted.shared)
        cuda.Context.synchronize()


def number(text: str) -> float:
    value = float(text.replace(",", ""))
    return int(value) if value.is_integer() else value


def profile(metrics: list[str], failed: dict[str, str]) -> list[dict]:
    # As in ../counters/read.py: caches are emptied before each kernel, and clocks are left alone.
    names, launches = [counted.name for counted in kernels()], []
    while names:
        command = ["ncu", "--clock-control", "none", "--cache-control", "all", "--metrics", ",".join(metrics)]
        command += ["--csv", "--page", "raw", "--print-units", "base", sys.executable, __file__, "--launch", *names]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
        if start is None:
            sys.exit(f"ncu failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        rows = [row for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))) if (row["ID"] or "").isdigit()]
        if done.returncode:  # the last of these kernels has faulted; go on behind it
            rows = rows[:-1]
            failed[names[len(rows)]] = " ".join((done.stdout + done.stderr).split("Error")[-1].split())[:300]
        for row in rows:
            read = {name: number(row[name]) for name in metrics if re.fullmatch(r"[\d.,]+", row.get(name) or "")}
            launches.append({"kernel": row["Kernel Name"].split("(")[0], "metrics": read})
        names = names[len(rows) + bool(done.returncode) :]
    return launches


def survey() -> list[str]:
    """The counters of this chip that may say something about these kernels."""
    done = subprocess.run(["ncu", "--query-metrics", "--chips", "gh100"], capture_output=True, text=True)
    if done.returncode:
        done = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True)
    Path("/tmp/query.txt").write_text(done.stdout + done.stderr)
    found = []
    for line in done.stdout.splitlines():
        words = line.split()
        if (
            len(words) > 2
            and "__" in words[0]
            and "Counter" in words[1:3]
            and (words[0] in METRICS or SURVEY.match(words[0]))
        ):
            found.append(f"{words[0]}.sum")
    return found


def main(arguments: list[str]) -> None:
    if not arguments or arguments[0] == "--launch":
        launch_all(arguments[1:])
        return
    file = Path(arguments[1])
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    device, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    where = {"device": device, "driver": driver, "date": datetime.datetime.now(datetime.UTC).date().isoformat()}
    metrics = survey() if arguments[0] == "--survey" else [f"{name}.sum" for name in METRICS]
    print(f"{len(metrics)} metrics", flush=True)
    failed: dict[str, str] = {}
    rows = ",\n".join(json.dumps(row) for row in profile(metrics, failed))
    for name, why in failed.items():
        print(f"failed: {name}: {why}", flush=True)
    new = file.with_suffix(".new")
    new.write_text(f'{{"read": {json.dumps(where)}, "launches": [\n{rows}\n]}}\n')
    new.replace(file)


if __name__ == "__main__":
    main(sys.argv[1:])
