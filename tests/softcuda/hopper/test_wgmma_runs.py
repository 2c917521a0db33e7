"""wgmma on softcuda against what an H200 computed: every recorded product and descriptor, at every SIMD level."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import native
import pytest

from hopper.cases import read_archive

pytest.importorskip("pycuda", reason="the cases run through PyCUDA")

HERE = Path(__file__).parent


def record(folder: Path, family: str, *options: str, **settings: str) -> tuple[dict, dict]:
    command = [sys.executable, HERE / "record.py", folder, "--family", family, *options]
    environment = native.clean_environment() | {"SOFTCUDA": "force", "SOFTCUDA_QUIET": "1"} | settings
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    header, results = read_archive(folder / f"{family}.npz")
    assert "(softcuda)" in header["device"]
    return header, results


@pytest.mark.parametrize("level", native.levels())
def test_products_are_the_hardwares(level: str, tmp_path: Path) -> None:
    slow = {"SOFTCUDA_OPTIMISE": "none"} if level == "generic" else {}
    header, mine = record(tmp_path, "products", SOFTCUDA_SIMD=level, **slow)
    _, theirs = read_archive(HERE / "golden" / "products.npz")
    assert not header["refused"]
    assert [name for name in theirs if mine[name].digest != theirs[name].digest] == []


def test_descriptors_read_where_the_hardware_reads(tmp_path: Path) -> None:
    header, mine = record(tmp_path, "layouts")
    _, theirs = read_archive(HERE / "golden" / "layouts.npz")
    assert not header["refused"]
    assert [name for name in theirs if mine[name].digest != theirs[name].digest] == []


def test_operands_outside_shared_memory_fault_as_on_hardware(tmp_path: Path) -> None:
    header, mine = record(tmp_path, "faults", "--only", "wgmma")
    theirs, kept = read_archive(HERE / "golden" / "faults.npz")
    refused = {name for name in theirs["refused"] if "wgmma" in name}
    assert set(header["refused"]) == refused and set(mine) == {name for name in kept if "wgmma" in name}
    assert all("an illegal memory access" in why for why in header["refused"].values())


INSTRUCTIONS = "sm__inst_executed_pipe_tensor_op_gmma.sum"
READ = ("sm__sass_data_bytes_mem_shared_op_gmma.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum")


def test_an_instruction_counts_as_on_hardware(tmp_path: Path) -> None:
    """For each execution: of narrow products the H200 counted fewer than the kernel repeats; why is not known."""
    hardware = {
        made["kernel"]: made["metrics"] for made in json.loads((HERE / "counters_h200.json").read_text())["launches"]
    }
    names = [name for name in hardware if name.startswith("wgmma")]
    command = [sys.executable, "-m", "softcuda", "profile", "--json", tmp_path / "counted.json", HERE / "counters.py"]
    done = subprocess.run(
        [*command, "--launch", *names],
        capture_output=True,
        text=True,
        env=native.clean_environment() | {"SOFTCUDA_QUIET": "1"},
    )
    assert done.returncode == 0, done.stderr
    counted = {made["kernel"]: made["metrics"] for made in json.loads((tmp_path / "counted.json").read_text())}
    assert set(counted) == set(names)
    for name in names:
        for metric in READ:
            mine, theirs = (made[metric] / made[INSTRUCTIONS] for made in (counted[name], hardware[name]))
            assert mine == theirs, f"{name}: {metric}"
    assert counted["wgmma_n256_swizzle_128"][INSTRUCTIONS] == hardware["wgmma_n256_swizzle_128"][INSTRUCTIONS]
