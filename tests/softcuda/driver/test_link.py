"""Several modules linked into one: cuLink*, through PyCUDA's Linker and DynamicModule."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pycuda.driver as cuda
import pytest
from pycuda.compiler import DynamicModule, SourceModule, compile

from softcuda import _toolkit

PTX = cuda.jit_input_type.PTX
HEAD = ".version 8.5\n.target sm_90\n.address_size 64\n"


def kernel(body: str, name: str = "kernel") -> str:
    """A kernel(int *out) that stores %r1."""
    return f"""
    .visible .entry {name}(.param .u64 out) {{
        .reg .b32 %r<9>; .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [out];
        {body}
        st.global.u32 [%rd1], %r1;
        ret;
    }}
    """


def function(name: str, value: int, linkage: str = ".visible") -> str:
    return f"{linkage} .func (.param .b32 r) {name}() {{ st.param.b32 [r], {value}; ret; }}\n"


DECLARED = ".extern .func (.param .b32 r) f();\n"
CALL = "{ .param .b32 r; call (r), f, (); ld.param.b32 %r1, [r]; }"


@pytest.fixture
def linked(context) -> Callable[..., cuda.Module]:
    """linked(ptx, …) -> the module made of them; they are called 1.ptx, 2.ptx …"""

    def link(*texts: str) -> cuda.Module:
        linker = cuda.Linker()
        for number, text in enumerate(texts, 1):
            linker.add_data((HEAD + text).encode(), PTX, f"{number}.ptx")
        return linker.link_module()

    return link


def run(module: cuda.Module, name: str = "kernel") -> int:
    out = np.full(1, -1, np.int32)
    module.get_function(name)(cuda.InOut(out), block=(1, 1, 1), grid=(1, 1))
    return int(out[0])


def test_a_function_of_another_module(linked) -> None:
    assert run(linked(DECLARED + kernel(CALL), function("f", 7))) == 7
    assert run(linked(function("f", 7), DECLARED + kernel(CALL))) == 7


def test_variables_of_another_module(linked) -> None:
    user = kernel("ld.global.u32 %r2, [v]; ld.const.u32 %r3, [c+4]; add.u32 %r1, %r2, %r3;")
    declared = ".extern .global .align 4 .u32 v;\n.extern .const .align 4 .b8 c[];\n"
    defined = ".visible .global .align 4 .u32 v = 40;\n.visible .const .align 4 .u32 c[2] = {1, 2};\n"
    module = linked(declared + user, defined)
    assert run(module) == 42
    address, size = module.get_global("v")
    assert size == 4
    cuda.memset_d32(address, 100, 1)
    assert run(module) == 102


def test_shared_memory_of_another_module(linked) -> None:
    store = "mov.u32 %r2, 5; st.shared.u32 [s+4], %r2; mov.u32 %r3, 6; st.shared.u32 [own], %r3;"
    module = linked(
        ".extern .shared .align 4 .b8 s[8];\n.shared .align 4 .u32 own;\n" + DECLARED + kernel(store + CALL),
        ".visible .shared .align 4 .b8 s[8];\n.shared .align 4 .u32 own;\n"
        ".visible .func (.param .b32 r) f() { .reg .b32 %r<3>; ld.shared.u32 %r1, [s+4]; st.shared.u32 [own], %r1;"
        " st.param.b32 [r], %r1; ret; }",
    )
    assert run(module) == 5


def test_addresses_in_initial_values(linked) -> None:
    """A table of functions and a pointer to a variable, both of another module."""
    module = linked(
        ".extern .global .align 4 .u32 v;\n"
        + DECLARED
        + ".visible .global .align 8 .u64 table[2] = {f, generic(v)};\n"
        + kernel("""
        ld.global.u64 %rd2, [table+8]; ld.u32 %r2, [%rd2]; ld.global.u64 %rd3, [table];
        { .param .b32 r; shape: .callprototype (.param .b32 _) _ (); call (r), %rd3, (), shape; ld.param.b32 %r3, [r]; }
        add.u32 %r1, %r2, %r3;"""),
        ".visible .global .align 4 .u32 v = 30;\n" + function("f", 3),
    )
    assert run(module) == 33


def test_local_names_stay_apart(linked) -> None:
    """Two modules have a static variable and a static function each, of the same names."""

    def one(name: str, value: int) -> str:
        body = CALL + " ld.global.u32 %r2, [v]; add.u32 %r1, %r1, %r2;"
        return f".global .align 4 .u32 v = {value};\n" + function("f", 10 * value, "") + kernel(body, name)

    module = linked(one("first", 1), one("second", 2))
    assert (run(module, "first"), run(module, "second")) == (11, 22)


@pytest.mark.parametrize(
    ("linkages", "value"),
    [((".weak", ".weak"), 1), ((".weak", ".visible"), 2), ((".visible", ".weak"), 1), (("", ".visible"), 2)],
)
def test_which_definition_holds(linked, linkages, value) -> None:
    parts = [function("f", number, linkage) for number, linkage in enumerate(linkages, 1)]
    assert run(linked(*parts, DECLARED + kernel(CALL))) == value


def test_common_variables_are_one(linked) -> None:
    module = linked(
        ".common .global .align 4 .b8 v[4];\n" + kernel("mov.u32 %r1, 9; st.global.u32 [v], %r1;", "write"),
        ".common .global .align 4 .b8 v[8];\n" + kernel("ld.global.u32 %r1, [v];", "read"),
    )
    assert module.get_global("v")[1] == 8
    assert (run(module, "write"), run(module, "read")) == (9, 9)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([DECLARED + kernel(CALL)], "Undefined reference to 'f' in '1.ptx'"),
        (
            ["", ".extern .global .align 4 .u32 v;\n" + kernel("ld.global.u32 %r1, [v];")],
            "Undefined reference to 'v' in '2.ptx'",
        ),
        ([DECLARED + kernel(CALL), function("f", 1, "")], "Undefined reference to 'f' in '1.ptx'"),
        ([function("f", 1), function("f", 2)], "Multiple definition of 'f' in '2.ptx', first defined in '1.ptx'"),
        ([kernel(""), kernel("")], "Multiple definition of 'kernel' in '2.ptx', first defined in '1.ptx'"),
        (
            [".extern .global .align 4 .u32 v;\n" + kernel("ld.global.u32 %r1, [v];"), ".visible .global .u64 v;"],
            "Size doesn't match for 'v' in '1.ptx' (.global, 4 bytes), first specified in '2.ptx' (.global, 8 bytes)",
        ),
        (
            [DECLARED + kernel(CALL), ".visible .func f() { ret; }"],
            "Prototype doesn't match for 'f' in '2.ptx', first specified in '1.ptx'",
        ),
        ([".extern .func __cudaCDP2Free();\n" + kernel("call __cudaCDP2Free;")], "reference to '__cudaCDP2Free'"),
    ],
)
def test_what_cannot_be_linked(linked, texts, message) -> None:
    with pytest.raises(cuda.Error, match="device kernel image is invalid") as caught:
        linked(*texts)
    assert message in str(caught.value)


def test_a_contradiction_is_refused_when_it_is_added(context) -> None:
    """As on an H200; what is missing is missed only at the end."""
    linker = cuda.Linker()
    linker.add_data((HEAD + function("f", 1)).encode(), PTX, "1.ptx")
    with pytest.raises(cuda.Error, match="cuLinkAddData failed: device kernel image is invalid"):
        linker.add_data((HEAD + function("f", 2)).encode(), PTX, "2.ptx")


def test_what_is_declared_and_not_used_needs_no_definition(linked) -> None:
    assert run(linked(DECLARED + kernel("mov.u32 %r1, 1;"))) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DECLARED + kernel(CALL), "Unresolved extern function 'f'"),
        (".extern .global .u32 v;\n" + kernel("ld.global.u32 %r1, [v];"), "Unresolved extern variable 'v'"),
    ],
)
def test_a_module_that_is_not_linked(context, text, message) -> None:
    with pytest.raises(cuda.Error, match="a PTX JIT compilation failed") as caught:
        cuda.module_from_buffer((HEAD + text).encode(), options=[], message_handler=None)
    assert message in str(caught.value)


def test_kernels_that_launch_need_the_device_runtime(context) -> None:
    source = "__global__ void child() {}\n__global__ void parent() { child<<<1, 1>>>(); }"
    with pytest.raises(cuda.Error) as caught:
        SourceModule(source, options=["-rdc=true"])
    assert "Unresolved extern function '__cudaCDP2" in str(caught.value)
    assert "must be linked with libcudadevrt" in str(caught.value)


FIRST = """
extern __device__ int counter;
extern __device__ int next(int by);
static __device__ int own(int x) { return x + 1000; }
__global__ void count(int *out) { out[threadIdx.x] = next(1) + own(threadIdx.x); }
"""
SECOND = """
__device__ int counter = 5;
static __device__ __noinline__ int own(int x) { return x + 100; }
__device__ int next(int by) { return own(atomicAdd(&counter, by)); }
"""


def test_two_sources_share_a_function_and_a_variable(context) -> None:
    module = DynamicModule()
    for source, name in ((FIRST, "first.ptx"), (SECOND, "second.ptx")):
        module.add_source(source, nvcc_options=["-rdc=true"], name=name)
    module.link()
    out = np.zeros(64, np.int32)
    module.get_function("count")(cuda.InOut(out), block=(64, 1, 1), grid=(1, 1))
    assert (np.sort(out - np.arange(64) - 1100) == np.arange(5, 69)).all()
    counter = np.zeros(1, np.int32)
    cuda.memcpy_dtoh(counter, module.get_global("counter")[0])
    assert counter[0] == 5 + 64


def nvcc(folder: Path, *options: str) -> None:
    done = subprocess.run(["nvcc", *options], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("made", ["objects", "library", "linked"])
def test_objects_and_libraries_that_nvcc_made(context, tmp_path, made) -> None:
    (tmp_path / "first.cu").write_text('extern "C" {' + FIRST + "}")
    (tmp_path / "second.cu").write_text('extern "C" {' + SECOND + "}")
    (tmp_path / "third.cu").write_text('extern "C" __device__ int nowhere();\n__device__ int f() { return nowhere(); }')
    nvcc(tmp_path, "-dc", "-arch=sm_90", "first.cu", "second.cu", "third.cu")
    linker = cuda.Linker()
    if made == "linked":
        nvcc(tmp_path, "-dlink", "-arch=sm_90", "first.o", "second.o", "-o", "both.cubin")
        module = cuda.module_from_file(str(tmp_path / "both.cubin"))
    elif made == "library":
        nvcc(tmp_path, "-lib", "second.o", "third.o", "-o", "library.a")
        linker.add_file(str(tmp_path / "first.o"), cuda.jit_input_type.OBJECT)
        linker.add_file(str(tmp_path / "library.a"), cuda.jit_input_type.LIBRARY)
        module = linker.link_module()
    else:
        for name in ("first.o", "second.o"):
            linker.add_file(str(tmp_path / name), cuda.jit_input_type.OBJECT)
        module = linker.link_module()
    out = np.zeros(1, np.int32)
    count = module.get_function("count")
    count(cuda.InOut(out), block=(1, 1, 1), grid=(1, 1))
    assert out[0] == 5 + 100 + 1000
    assert count.num_regs > 0


def test_machine_code_is_refused_in_one_line(context, tmp_path) -> None:
    (tmp_path / "object.o").write_bytes(b"\x7fELF" + bytes(100))
    with pytest.raises(cuda.Error) as caught:
        cuda.Linker().add_file(str(tmp_path / "object.o"), cuda.jit_input_type.OBJECT)
    assert "object.o: it is machine code; softcuda links PTX" in str(caught.value)


def test_the_device_runtime_of_a_toolkit_is_recognised(context) -> None:
    """Wherever PyCUDA finds libcudadevrt.a: it lies in the Python package too."""
    toolkit = _toolkit.nvidia()
    assert toolkit, _toolkit.INSTALL
    source = "__global__ void child(int *x) { *x = 3; }\n__global__ void kernel(int *x) { child<<<1, 1>>>(x); }"
    linker = cuda.Linker()
    linker.add_data(compile(source, options=["-rdc=true"], target="ptx"), PTX, "kernel.ptx")
    linker.add_file(str(toolkit / "lib" / "libcudadevrt.a"), cuda.jit_input_type.LIBRARY)
    assert run(linker.link_module()) == 3


VERDICTS = {
    "undefined function": [DECLARED + kernel(CALL)],
    "local function": [DECLARED + kernel(CALL), function("f", 1, "")],
    "two strong": [function("f", 1), function("f", 2)],
    "two weak": [function("f", 1, ".weak"), function("f", 2, ".weak"), DECLARED + kernel(CALL)],
    "weak and strong": [function("f", 1, ".weak"), function("f", 2), DECLARED + kernel(CALL)],
    "locals of one name": [function("f", 1, "") + kernel(CALL), function("f", 2, "") + kernel(CALL, "other")],
    "two kernels of one name": [kernel("mov.u32 %r1, 1;"), kernel("mov.u32 %r1, 2;")],
    "another size": [
        ".extern .global .align 4 .u32 v;\n" + kernel("ld.global.u32 %r1, [v];"),
        ".visible .global .align 8 .u64 v;",
    ],
    "two common": [".common .global .align 4 .b8 v[4];", ".common .global .align 4 .b8 v[8];"],
    "an unused declaration": [DECLARED + kernel("mov.u32 %r1, 1;")],
}


@pytest.mark.skipif(_toolkit.nvidia() is None, reason=f"no NVIDIA compiler packages: {_toolkit.INSTALL}")
@pytest.mark.parametrize("case", VERDICTS)
def test_nvlink_agrees(linked, tmp_path, case) -> None:
    """What NVIDIA's own linker takes is taken here, and nothing else."""
    folder = _toolkit.nvidia() / "bin"
    objects = []
    for number, text in enumerate(VERDICTS[case], 1):
        (tmp_path / f"{number}.ptx").write_text(HEAD + text)
        objects.append(str(tmp_path / f"{number}.cubin"))
        subprocess.run(
            [folder / "ptxas", "-c", "-arch=sm_90", tmp_path / f"{number}.ptx", "-o", objects[-1]], check=True
        )
    command = [folder / "nvlink", "-arch=sm_90", *objects, "-o", str(tmp_path / "linked.cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        linked(*VERDICTS[case])
        taken = True
    except cuda.Error:
        taken = False
    assert taken == (done.returncode == 0), done.stdout + done.stderr
