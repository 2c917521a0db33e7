"""`softcuda profile`: tables for people, JSON for programs, and what becomes of a program that fails."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

kernel = SourceModule('''
__global__ void every_other(const float *a, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 2)
        out[i] = a[2 * i];
}
''').get_function("every_other")
a, out = cuda.to_device(np.ones(512, np.float32)), cuda.mem_alloc(1024)
for _ in range(int(sys.argv[1])):
    kernel(a, out, grid=(2, 1), block=(128, 1, 1))
if sys.argv[2:]:
    raise SystemExit(sys.argv[2]) if sys.argv[2] != "raise" else ValueError("of the program's own")
print("done")
"""


@pytest.fixture
def profile(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "softcuda", "profile", *arguments]
        settings = os.environ | {"SOFTCUDA_QUIET": "1", "COLUMNS": "100"}
        return subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, text=True, timeout=120)

    return run


def test_a_table_of_what_a_kernel_asked_for(profile):
    done = profile("program.py", "3")
    assert done.returncode == 0, done.stderr
    assert "every_other  (3 launches, first 1 of 3; grid 2x1x1, block 128x1x1)" in done.stdout
    assert "global loads: 8 requests, 64 sectors (8.0 per request, 25 % of their bytes asked for)" in done.stdout
    assert "8 branches, 8 diverged" in done.stdout
    [line] = [line for line in done.stdout.splitlines() if "out[i] = a[2 * i];" in line]
    assert line.split()[0] == "kernel.cu:6", "the costly line, counted as in the program's string"
    assert max(map(len, done.stdout.splitlines())) <= 100, "it fits the terminal"


def test_json_has_an_object_a_launch(profile, tmp_path):
    done = profile("--json", "out.json", "program.py", "2")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    launches = json.loads((tmp_path / "out.json").read_text())
    assert [launch["kernel"] for launch in launches] == ["every_other"] * 2
    launch = launches[0]
    assert (launch["grid"], launch["block"]) == ([2, 1, 1], [128, 1, 1])
    assert launch["metrics"]["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == 64
    assert launch["metrics"]["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"] == 8
    loads = [line for line in launch["lines"] if line["line"] == 6]
    assert loads[0]["source"] == "        out[i] = a[2 * i];"
    assert loads[0]["metrics"]["softcuda__active_lanes_per_warp_instruction.ratio"] == 16


def test_each_line_has_its_own_modules_source(profile, tmp_path):
    """Modules that take turns, all called kernel.cu by PyCUDA."""
    (tmp_path / "turns.py").write_text("""
import numpy as np
import pycuda.autoinit
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

one, two = (SourceModule("__global__ void " + name + "(int *a) { a[0] = %d; }" % (i + 7)).get_function(name)
            for i, name in enumerate(["one", "two"]))
a = gpuarray.zeros(1, np.int32)
for kernel in (one, two, one):
    kernel(a, grid=(1, 1), block=(1, 1, 1))
""")
    done = profile("--json", "out.json", "turns.py")
    assert done.returncode == 0, done.stderr
    launches = json.loads((tmp_path / "out.json").read_text())
    own = [launch for launch in launches if launch["kernel"] in ("one", "two")]  # gpuarray.zeros launches one, too
    sources = [launch["lines"][0]["source"] for launch in own]
    assert [source[-11:] for source in sources] == ["a[0] = 7; }", "a[0] = 8; }", "a[0] = 7; }"]


def test_every_metric_of_the_readme_is_there_also_where_it_is_zero(profile, tmp_path):
    readme = (Path(__file__).parents[2] / "softcuda" / "README.md").read_text()
    listed = set()
    for name in re.findall(
        r"`((?:l1tex|launch|sm|softcuda)__[^`]+)`", readme.partition("## Counting")[2].partition("## ")[0]
    ):
        head, *rest = re.split(r"\{(.*?)\}", name)
        names = [head]
        for choices, tail in zip(rest[::2], rest[1::2], strict=True):
            names = [before + choice + tail for before in names for choice in choices.split(",")]
        listed |= set(names)
    (tmp_path / "empty.py").write_text("""
import pycuda.autoinit
from pycuda.compiler import SourceModule
SourceModule("__global__ void nothing() {}").get_function("nothing")(block=(1, 1, 1))
""")
    for program in ("empty.py", "program.py"):
        assert profile("--json", "out.json", program, "1").returncode == 0
        [launch] = json.loads((tmp_path / "out.json").read_text())
        assert launch["metrics"].keys() == listed
        assert launch["partial"] is False


@pytest.mark.parametrize(
    ("ending", "status", "told"), [("7", 1, "7"), ("raise", 1, "ValueError: of the program's own")]
)
def test_a_program_that_fails_keeps_its_ending(profile, tmp_path, ending, status, told):
    done = profile("--json", "out.json", "program.py", "1", ending)
    assert done.returncode == status
    assert told in done.stderr
    assert len(json.loads((tmp_path / "out.json").read_text())) == 1, "what ran until then"


def test_mistakes_get_one_line(profile, tmp_path):
    assert profile("--json").stderr == "softcuda: profile --json needs the name of a file\n"
    assert "there is no folder" in profile("--json", "nowhere/out.json", "program.py", "1").stderr
    assert profile("--json", "out.json", "nothing.py").stderr.startswith("softcuda: no program nothing.py")
    assert list(tmp_path.glob("*.json")) == []
