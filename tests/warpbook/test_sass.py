"""SASS beside a listing: what an author writes, how a disassembly is read, what a reader sees, when it is stale."""

from __future__ import annotations

import json

import pytest

from warpbook import cli
from warpbook.blocks import sass_view
from warpbook.book import BookError
from warpbook.pipeline.extension import parse as parse_page
from warpbook.records import sass
from warpbook.records.sass import Instruction
from warpbook.records.values import Values, evaluate
from warpbook.source.pages import Page

KERNEL = """#include <cstdio>
__device__ float twice(float a) {
    return a * 2;
}
__global__ void all(float *a, int n) {
    for (int i = 0; i < n; ++i)
        a[i] = twice(a[i]);
}
"""
LISTING = """
//--------------------- .text.all                 --------------------------
.text.all:
	//## File "FILE", line 5
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File "FILE", line 6
        /*0010*/                   ISETP.GE.AND P0, PT, R2, 0x1, PT ;
        /*0020*/               @P0 BRA `(.L_x_9) ;
.L_x_8:
	//## File "FILE", line 7
        /*0030*/                   LDG.E.64 R4, desc[UR4][R2.64] ;
	//## File "FILE", line 3 inlined at "FILE", line 7
	//## File "FILE", line 7
        /*0040*/                   FADD R5, R4, R4 ;
        /*0050*/                   FADD.FTZ R5, R5, R5 ;
	//## File "/usr/include/header.h", line 7
        /*0060*/                   STL [R1], R5 ;
	//## File "FILE", line 6
        /*0070*/              @!P0 BRA `(.L_x_8) ;
.L_x_9:
        /*0080*/                   EXIT ;
.L_x_10:
        /*0090*/                   BRA `(.L_x_10);
        /*00a0*/                   NOP;
.L_x_11:

//--------------------- SYMBOLS                   --------------------------
"""
PTXAS = """ptxas info    : Compiling entry function 'all' for 'sm_90'
ptxas info    : Function properties for all
    16 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 256 bytes smem
ptxas info    : Compiling entry function 'other' for 'sm_90'
ptxas info    : Used 99 registers
"""
PAGE = """# X

```cuda
--8<-- "snippets/x/all.cu:5:8"
```

{{ sass:x/all.cu:all }}

A pass has {{ sass:x/all.cu:all.loop.FADD }} additions.
"""
WANTED = sass.Wanted("x/all.cu", "all")


@pytest.fixture
def instructions(tmp_path) -> list[Instruction]:
    file = tmp_path / "all.cu"
    file.write_text(KERNEL)
    [(name, lines)] = sass.sections(LISTING.replace("FILE", str(file)))
    assert name == "all"
    return list(sass.read_listing(lines, str(file)))


@pytest.fixture
def page(small, write, instructions):
    """A page with a listing, its kernel, and a record of its SASS that is fresh."""
    write("snippets/x/all.cu", KERNEL)
    page = Page(small, write("docs/en/x.md", PAGE))
    write("docs/zh/x.md", PAGE)
    text = KERNEL.splitlines()
    entry = {
        "code": sass.code_of(small, WANTED),
        "architecture": "sm_90",
        "compiler": "13.0.88",
        "disassembler": "13.5.37",
        **sass.resources(PTXAS, "all"),
        "lines": {str(n): text[n - 1].strip() for n in (3, 5, 6, 7)},
        "sass": [one.kept() for one in instructions],
    }
    write("records/softcuda/sass/x.json", json.dumps({"format": 1, "kernels": {WANTED.key: entry}}))
    return page


@pytest.mark.parametrize(
    ("written", "key", "arguments"),
    [
        ("sass:x/all.cu:all", "x/all.cu:all", ["-arch=sm_90"]),
        ("sass:x/all.cu:all[arch=sm_90]", "x/all.cu:all", ["-arch=sm_90"]),
        ("sass:x/all.cu:all[N=16,arch=sm_100a]", "x/all.cu:all[N=16,arch=sm_100a]", ["-arch=sm_100a", "-DN=16"]),
        ("sass:x/all.cu:all[maxrregcount=32]", "x/all.cu:all[maxrregcount=32]", ["-arch=sm_90", "--maxrregcount=32"]),
    ],
)  # fmt: skip
def test_what_an_author_writes(written, key, arguments):
    one = sass.parse(written)
    assert one
    assert (one.key, one.arguments()) == (key, arguments)


@pytest.mark.parametrize("options", ["tile=16", "arch=hopper", "TILE=16;rm", "compiler-options=x", "TILE"])
def test_an_option_that_is_none_is_named(options):
    with pytest.raises(BookError, match=r"neither a macro|names no architecture"):
        sass.options_of([options])


def test_a_page_asks_for_each_kernel_once(page):
    assert sass.wanted([page, page]) == [WANTED]


def test_a_disassembly_is_read_without_what_fills_it_up(instructions):
    assert [one.opcode for one in instructions] == [
        "LDC", "ISETP.GE.AND", "BRA", "LDG.E.64", "FADD", "FADD.FTZ", "STL", "BRA", "EXIT",
    ]  # fmt: skip
    assert [one.kind for one in instructions][3:] == ["memory", "float", "float", "memory", "control", "control"]


def test_labels_are_numbered_and_branches_name_them(instructions):
    assert [(one.label, one.text) for one in instructions if one.label or one.opcode == "BRA"] == [
        ("", "@P0 BRA L2"),
        ("L1", "LDG.E.64 R4, desc[UR4][R2.64]"),
        ("", "@!P0 BRA L1"),
        ("L2", "EXIT"),
    ]


def test_an_inlined_instruction_knows_its_line_and_that_of_its_call(instructions):
    assert [one.lines for one in instructions] == [
        (5,), (6,), (6,), (7,), (3, 7), (3, 7), (), (6,), (6,),
    ]  # fmt: skip


def test_what_is_kept_is_read_back(instructions):
    assert [Instruction.read(one.kept()) for one in instructions] == instructions


def test_registers_and_spills_are_those_of_the_kernel_asked_for():
    found = sass.resources(PTXAS, "all")
    assert found == {"registers": 40, "stack": 16, "spill_stores": 4, "spill_loads": 12, "shared": 256}


@pytest.mark.parametrize(
    ("what", "number"),
    [
        ("registers", 40),
        ("spills", 16),
        ("instructions", 9),
        ("BRA", 2),
        ("FADD", 2),
        ("FADD.FTZ", 1),
        ("LDG.E.64", 1),
        ("memory", 2),
        ("loop.instructions", 5),
        ("loop.FADD", 2),
        ("loop.LDS", 0),
    ],
)
def test_counts(page, what, number):
    assert sass.count(sass.entry_of(page.book, "x", WANTED), what) == number


def listing(*texts: str) -> list[Instruction]:
    return [Instruction.read(f"{16 * i:04x};;{text}") for i, text in enumerate(texts)]


def test_the_main_loop_is_the_one_with_the_most_arithmetic():
    nested = listing("L1;NOP", "L2;FADD R1", ";@P0 BRA L2", "L3;FMUL R1", ";FMUL R2", ";@P0 BRA L3", ";@P1 BRA L1")
    assert [one.opcode for one in sass.main_loop(nested)] == ["FMUL", "FMUL", "BRA"]
    assert sass.main_loop(listing(";@P0 BRA L1", "L1;EXIT")) == []


def test_a_long_loop_that_only_loads_is_not_the_main_loop():
    """As in a matrix product: the loop over K fills a tile in a loop of its own, and computes in another or in none."""
    loads = ["L2;LDG.E R1", ";STS [R2], R1", ";IADD3 R3", ";IADD3 R4", ";ISETP P0", ";@P0 BRA L2"]
    inner = listing("L1;BAR", *loads, "L3;FFMA R1", ";FFMA R2", ";@P0 BRA L3", ";@P1 BRA L1")
    assert [one.opcode for one in sass.main_loop(inner)] == ["FFMA", "FFMA", "BRA"]
    unrolled = listing("L1;BAR", *loads, ";FFMA R1", ";FFMA R2", ";@P1 BRA L1")
    assert [one.opcode for one in sass.main_loop(unrolled)] == ["BAR", "FFMA", "FFMA", "BRA"], "without the loads"


def test_without_arithmetic_the_main_loop_is_the_longest_of_the_innermost():
    outer = listing("L1;NOP", ";NOP", ";NOP", ";NOP", "L2;LDG.E R1", ";IADD3 R1", ";@P0 BRA L2", ";NOP", ";@P1 BRA L1")
    assert [one.opcode for one in sass.main_loop(outer)] == ["LDG.E", "IADD3", "BRA"]


def test_a_count_in_a_sentence_comes_from_the_record(page):
    answer = evaluate("sass:x/all.cu:all.loop.FADD", "x", Values(page.book))
    assert answer.shown == "2"
    parsed = parse_page(page, "en", Values(page.book))
    assert not [problem for problem in parsed.problems if "sass" in problem.lower()]
    assert "counted in the SASS of nvcc 13.0.88, sm_90" in parsed.html


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("sass:x/all.cu:all.speed", '"speed" is none of registers'),
        ("sass:x/all.cu:all", "is not sass:FILE.cu:KERNEL.COUNT"),
        ("sass:x/all.cu:none.BRA", "no SASS of x/all.cu:none; run"),
        ("sass:x/gone.cu:all.BRA", "there is no snippets/x/gone.cu"),
    ],
)
def test_a_count_that_cannot_be_is_named_in_one_line(page, written, said):
    with pytest.raises(BookError) as error:
        evaluate(written, "x", Values(page.book))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_what_a_reader_sees(page):
    shown = sass_view.fold_out(page, "en", WANTED, page.blocks[0])
    assert "40 registers, 16 bytes spilled</summary>" in shown
    assert '<span>7         a[i] = twice(a[i]);\n</span><samp>    0030 L1  <b class="m">LDG.E.64</b> R4' in shown
    assert '0040     <b class="f">FADD</b> R5, R4, R4\n' in shown, "an inlined one, at the line of its call"
    assert "<span>from elsewhere\n</span><samp>    0060" in shown
    assert 'role="group" tabindex="0"' in shown or 'tabindex="0" role="group"' in shown
    assert "40 个寄存器，溢出 16 字节" in sass_view.fold_out(page, "zh", WANTED, page.blocks[0])


def test_it_stands_under_a_listing_of_its_file(page, write):
    with pytest.raises(BookError, match=r"SASS of all stands under no listing of snippets/x/all.cu"):
        sass_view.fold_out(page, "en", WANTED, None)


def test_a_record_is_fresh_until_the_code_changes(page, write):
    assert sass.stale(page.book, "x") == []
    write("snippets/x/all.cu", KERNEL.replace("a * 2;", "a * 2;  // a comment"))
    [line] = sass.stale(page.book, "x")
    assert "snippets/x/all.cu:3 is another line now" in line
    write("snippets/x/all.cu", KERNEL.replace("a * 2", "a * 3"))
    [line] = sass.stale(page.book, "x")
    assert "stale: snippets/x/all.cu has changed" in line
    with pytest.raises(BookError, match="has changed since its SASS was recorded"):
        sass_view.fold_out(page, "en", WANTED, page.blocks[0])


def test_what_no_page_shows_is_stale(page, write):
    for language in ("en", "zh"):
        write(f"docs/{language}/x.md", "# X\n")
    assert "no page shows SASS of it; delete it" in sass.stale(page.book, "x")[0]


def test_a_damaged_record_is_one_line(page, write):
    write("records/softcuda/sass/x.json", '{"format": 1, "kernels": {"x": {}}}')
    with pytest.raises(BookError, match=r"records/softcuda/sass/x.json: .*kernels"):
        sass.read(page.book, "x")


def test_a_missing_tool_is_one_line(page, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sass.sysconfig, "get_path", lambda _: str(tmp_path))
    with pytest.raises(BookError, match=r"no nvcc here, which the SASS of a kernel needs; run `make setup`"):
        sass.disassemble(page.book, WANTED)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["snippets/reduction/none.cu", "--kernel", "x"], "snippets/reduction/none.cu: no such file"),
        (["snippets/reduction/order.cu", "--kernel", "x", "-D", "lower=1"], '"lower=1" is neither a macro'),
        (["snippets/reduction/order.cu", "--kernel", "x", "--arch", "hopper"], "names no architecture"),
    ],
)
def test_the_command_says_in_one_line_what_is_wrong(capsys, arguments, said):
    assert cli.main(["sass", *arguments]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
