"""Findings for editors and pull requests: `softcuda check --sarif` and `--github`, in the project's files and lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import native
import planted
import pytest
from softcuda._locate import Place, Project

from softcuda import _sarif

PLANTED = Path(planted.__file__)
ROOT = PLANTED.parents[3]
RACE = (PLANTED.parent / "race.py").read_text()


def check(folder: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "softcuda", "check", *map(str, arguments)]
    clean = native.clean_environment() | {"SOFTCUDA_QUIET": "1", "GITHUB_WORKSPACE": ""} | environment
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=clean)


def run_of(file: Path) -> dict[str, Any]:
    """The run in a SARIF file, after what the schema and GitHub's code scanning ask of it."""
    log = json.loads(file.read_text())
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
    [run] = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "softcuda check" and driver["version"]
    names = [rule["id"] for rule in driver["rules"]]
    assert len(names) == len(set(names))
    for rule in driver["rules"]:
        assert rule["name"].isalnum()
        assert all(rule[part]["text"] for part in ("shortDescription", "fullDescription", "help"))
    for result in run["results"]:
        assert names[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning") and result["message"]["text"]
        assert len(result["locations"]) == 1 and all(result["partialFingerprints"].values())
        for place in (*result["locations"], *result.get("relatedLocations", [])):
            artifact = place["physicalLocation"]["artifactLocation"]
            assert artifact["uriBaseId"] in run["originalUriBaseIds"] and not artifact["uri"].startswith(("/", "."))
            assert place["physicalLocation"].get("region", {"startLine": 1})["startLine"] > 0
    return run


def lines_of(result: dict[str, Any], which: str = "locations") -> list[tuple[str, int]]:
    places = [place["physicalLocation"] for place in result.get(which, [])]
    return [(place["artifactLocation"]["uri"], place.get("region", {}).get("startLine", 0)) for place in places]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[str]]:
    """Of the planted kernels that end well: the run in the SARIF file, and the annotations."""
    file = tmp_path_factory.mktemp("sarif") / "findings.sarif"
    names = [case.name for case in planted.CASES.values() if not case.fails and not case.host]
    done = check(ROOT, "--github", "--sarif", file, PLANTED.relative_to(ROOT), *names)
    assert done.returncode == 1, done.stderr
    assert "softcuda check: " in done.stdout, "the report for people is printed, too"
    return run_of(file), [line for line in done.stdout.splitlines() if line.startswith("::")]


def kernel_at(line: int) -> str:
    """The pair of kernels in planted.py that line `line` belongs to."""
    above = PLANTED.read_text().splitlines()[:line]
    return [text.split('"')[1] for text in above if text.startswith('pair("')][-1]


def test_every_finding_is_at_its_line_in_the_project(many) -> None:
    """What the compiler saw were strings, put together by planted.py."""
    text = PLANTED.read_text().splitlines()
    for result in many[0]["results"]:
        assert lines_of(result)[0] in lines_of(result, "relatedLocations") or "relatedLocations" not in result
        for file, line in lines_of(result) + lines_of(result, "relatedLocations"):
            assert (file, kernel_at(line)) == ("tests/softcuda/check/planted.py", result["properties"]["kernel"])
            assert text[line - 1].endswith("//!")
    assert len(many[0]["results"]) > 50


def test_every_finding_is_annotated_where_it_is(many) -> None:
    said = [line.partition("title=")[0] for line in many[1]]
    places = [place for result in many[0]["results"] for place in lines_of(result)]
    assert said == [f"::error file={file},line={line}," for file, line in places]


def test_both_threads_of_a_race_and_its_kernel(many) -> None:
    [result] = [one for one in many[0]["results"] if one["properties"]["kernel"] == "shared_reverse"]
    assert result["ruleId"] == "race" and result["level"] == "error"
    [writes, reads] = sorted(
        result["relatedLocations"], key=lambda place: place["physicalLocation"]["region"]["startLine"]
    )
    assert "writes (st.shared" in writes["message"]["text"] and "reads (ld.shared" in reads["message"]["text"]
    [kernel] = result["locations"][0]["logicalLocations"]
    assert kernel["kind"] == "function" and kernel["name"].startswith("shared_reverse")
    for file, line in lines_of(result, "relatedLocations"):
        assert f"at {file}:{line}" in result["message"]["text"], "the sentence names the project's lines, too"


def test_fingerprints_differ(many) -> None:
    count = Counter(json.dumps(result["partialFingerprints"]) for result in many[0]["results"])
    assert set(count.values()) == {1}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with a race in src/my race.py."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "my race.py").write_text(RACE)
    return tmp_path


def test_paths_are_relative_to_the_checkout(project: Path) -> None:
    assert check(project / "src", "--sarif", "found.sarif", "my race.py").returncode == 1
    [result] = run_of(project / "src" / "found.sarif")["results"]
    assert lines_of(result) == [("src/my%20race.py", 13)]
    assert sorted(lines_of(result, "relatedLocations")) == [("src/my%20race.py", 12), ("src/my%20race.py", 13)]
    text = (project / "src" / "found.sarif").read_text()
    assert str(project) not in text, "no path of this machine"


def test_an_annotation_whole(project: Path) -> None:
    done = check(project, "--github", "src/my race.py", GITHUB_WORKSPACE=str(project / "src"))
    [line] = [line for line in done.stdout.splitlines() if line.startswith("::")]
    head = "::error file=src/my race.py,line=13,title=softcuda check%3A race in shared memory in kernel reverse::"
    assert line.startswith(head), "a workspace that this folder is not in says nothing"
    assert "reads at src/my race.py:13, " in line and "%0AHint: put __syncthreads() between the two lines" in line


def test_fingerprints_stay_when_lines_are_moved(project: Path) -> None:
    found = []
    for text in (RACE, "# a line more\n\n" + RACE):
        (project / "race.py").write_text(text)
        check(project, "--sarif", "found.sarif", "race.py")
        found += run_of(project / "found.sarif")["results"]
    assert found[0]["partialFingerprints"] == found[1]["partialFingerprints"]
    assert lines_of(found[0]) == [("race.py", 13)] and lines_of(found[1]) == [("race.py", 15)]


def test_a_leak_belongs_to_the_program(tmp_path: Path) -> None:
    (tmp_path / "leak.py").write_text(
        "import ctypes\nimport pycuda.autoinit\n"
        'ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(1000))\n'
    )
    assert check(tmp_path, "--sarif", "found.sarif", "leak.py").returncode == 1
    [result] = run_of(tmp_path / "found.sarif")["results"]
    assert (result["ruleId"], lines_of(result)) == ("leak", [("leak.py", 0)])


def test_a_librarys_kernels_are_warnings_unless_strict(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(
        "import numpy as np\nimport pycuda.autoinit\nimport pycuda.gpuarray as gpuarray\n"
        "gpuarray.sum(gpuarray.to_gpu(np.ones(5000, np.float32))).get()\n"
    )
    for options, level, status in (([], "warning", 0), (["--strict"], "error", 1)):
        done = check(tmp_path, *options, "--github", "--sarif", "found.sarif", "sums.py")
        results = run_of(tmp_path / "found.sarif")["results"]
        assert done.returncode == status and {result["level"] for result in results} == {level}
        assert {place for result in results for place in lines_of(result)} == {("sums.py", 0)}
        assert f"::{level} file=sums.py,title=" in done.stdout


# --- how it ends ------------------------------------------------------------------------------------------------------


def test_both_files_and_a_program_that_fails(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("raise SystemExit(7)\n")
    done = check(tmp_path, "--json", "f.json", "--sarif", "f.sarif", "--github", "program.py")
    assert done.returncode == 7
    assert json.loads((tmp_path / "f.json").read_text()) == {"partial": False, "findings": []}
    run = run_of(tmp_path / "f.sarif")
    [invocation] = run["invocations"]
    assert run["results"] == [] and (invocation["executionSuccessful"], invocation["exitCode"]) == (True, 7)
    [note] = invocation["toolExecutionNotifications"]
    assert note["level"] == "warning" and "ended with status 7" in note["message"]["text"]
    assert "::warning title=softcuda check::softcuda: the program ended with status 7" in done.stdout


def test_a_program_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"{RACE}a.get()\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    done = check(tmp_path, "--sarif", "f.sarif", "program.py")
    assert done.returncode == -signal.SIGKILL
    run = run_of(tmp_path / "f.sarif")
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is False and "exitCode" not in invocation
    assert (invocation["exitSignalName"], invocation["exitSignalNumber"]) == ("SIGKILL", 9)
    [note] = invocation["toolExecutionNotifications"]
    assert note["level"] == "error" and "did not end by itself (SIGKILL)" in note["message"]["text"]
    assert [result["ruleId"] for result in run["results"]] == ["race"]


def test_a_full_disk_is_a_status(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    (tmp_path / "program.py").write_text("")
    done = check(tmp_path, "--sarif", "/dev/full", "program.py")
    assert done.returncode == 1 and "softcuda: cannot write /dev/full" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sarif"], "softcuda: check --sarif needs the name of a file"),
        (["--sarif", "/nowhere/f.sarif", "x.py"], "softcuda: there is no folder /nowhere to write f.sarif in"),
        (["--sarif", "f", "--json", "./f", "x.py"], "softcuda: check --json and --sarif name the same file, f"),
    ],
)
def test_bad_input(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = check(tmp_path, *arguments)
    assert (done.returncode, done.stderr) == (1, message + "\n")
    assert os.listdir(tmp_path) == []


# --- lines ------------------------------------------------------------------------------------------------------------

KERNEL = """\
__global__ void sum(float *a, int n)
{
    __shared__ float part[N];
    part[threadIdx.x] = a[threadIdx.x];
    printf("%d\\n", n);
    a[0] = part[0];
}
"""
WRITTEN = {  # programs that hold the kernel above, and where its line 4 is
    "plain": (f'"""{KERNEL}"""', 4),
    "a line lower": (f'import numpy\nsource = r"""\n{KERNEL}"""', 6),
    "escaped": ('source = """\n' + KERNEL.replace("\\", "\\\\") + '"""', 5),
    "indented": ("def f():\n    source = '''\n" + KERNEL.replace("\n", "\n        ").replace("__g", "        __g"), 6),
    "filled in": ("f'''" + KERNEL.replace("{", "{{").replace("}", "}}").replace("[N]", "[{size * 2}]") + "'''", 4),
    "with other ends of lines": (KERNEL.replace("\n", "\r\n"), 4),
}


@pytest.mark.parametrize(("text", "line"), WRITTEN.values(), ids=WRITTEN)
def test_the_line_of_a_kernel_in_a_string(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "other.py").write_text("sum = 0\n")
    (tmp_path / "program.py").write_bytes(text.encode())
    found = Project(tmp_path).find("kernel.cu", 4, KERNEL.splitlines())
    assert found == Place(tmp_path / "program.py", line)


def test_a_kernel_in_one_line(tmp_path: Path) -> None:
    source = "__global__ void fill(int *a) { a[threadIdx.x] = 7; }"
    (tmp_path / "program.py").write_text(f'import x\nfill = SourceModule("{source}").get_function("fill")\n')
    assert Project(tmp_path).find("kernel.cu", 1, [source]) == Place(tmp_path / "program.py", 2)


def test_the_program_comes_before_a_copy(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(KERNEL)
    assert Project(tmp_path, tmp_path / "b.py").find("kernel.cu", 4, KERNEL.splitlines()) == Place(tmp_path / "b.py", 4)


def test_no_line_is_guessed(tmp_path: Path) -> None:
    """Lines that look alike in another kernel, and lines that no file has."""
    lines = ["__global__ void f(int *a)", "{", "    int i = threadIdx.x;", "    if (i < 10)", "    a[i] = 1;", "}"]
    (tmp_path / "twice.py").write_text("    int i = threadIdx.x;\n" * 2)
    project = Project(tmp_path)
    assert project.find("kernel.cu", 3, lines, "f(int*)") is None, "two lines, and nothing around them agrees"
    assert project.find("kernel.cu", 5, lines) is None
    (tmp_path / "twice.py").write_text(lines[2])
    assert Project(tmp_path).find("kernel.cu", 3, lines, "f(int*)") is None, "that file has no kernel f"
    (tmp_path / "twice.py").write_text(f"kernel = make('void f(int *a)', {lines[2]!r})")
    assert Project(tmp_path).find("kernel.cu", 3, lines, "f(int*)") == Place(tmp_path / "twice.py", 1)
    assert project.find("kernel.cu", 0, lines) is None and project.find("kernel.cu", 9, lines) is None


def test_a_file_that_the_compiler_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sum.cu").write_text(KERNEL)
    monkeypatch.chdir(tmp_path)
    project = Project(tmp_path)
    assert project.find("sum.cu", 4, KERNEL.splitlines()) == Place(tmp_path / "sum.cu", 4)
    assert project.find(str(tmp_path / "sum.cu"), 4, []) == Place(tmp_path / "sum.cu", 4), "its text is not known"
    (tmp_path / "kernel.cu").write_text("// another one\n" * 9)
    assert project.find("kernel.cu", 4, KERNEL.splitlines()) == Place(tmp_path / "sum.cu", 4)


def test_environments_are_not_searched(tmp_path: Path) -> None:
    for folder in (".venv", "node_modules", "env", "src"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kernel.py").write_text(KERNEL)
    (tmp_path / "env" / "pyvenv.cfg").touch()
    assert Project(tmp_path).files == [tmp_path / "src" / "kernel.py"]


# --- words ------------------------------------------------------------------------------------------------------------


def test_a_finding_cannot_end_its_command() -> None:
    text = _sarif.format_annotation("error", "50 %, twice: a\nb", "::stop\r\n100 %", "a,b:c.py", 3)
    assert text == "::error file=a%2Cb%3Ac.py,line=3,title=50 %25%2C twice%3A a%0Ab::::stop%0D%0A100 %25"


def test_a_kind_without_a_rule_is_described_by_its_finding(tmp_path: Path) -> None:
    finding = {
        "kind": "new-kind",
        "title": "something new",
        "text": "it is new",
        "where": "",
        "hint": "look",
        "library": "",
    }
    located = [_sarif.Located(finding, Place(tmp_path / "a.py"))]
    log = _sarif.describe_run(located, Project(tmp_path), _sarif.Ending(1), strict=False)
    (tmp_path / "f.sarif").write_text(json.dumps(log))
    [result] = run_of(tmp_path / "f.sarif")["results"]
    assert result["ruleId"] == "new-kind" and result["message"]["text"] == "it is new\nHint: look"
