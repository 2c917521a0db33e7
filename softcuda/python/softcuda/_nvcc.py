"""The compiler stand-in: NVIDIA's nvcc does the whole work, ptxas included; only what it leaves behind differs.

Where a cubin (or a fatbin) is asked for, the output file holds the PTX that ptxas has just accepted, followed by what
ptxas found out about each kernel:

    // softcuda: kernel=NAME registers=N shared=BYTES spill_stores=BYTES spill_loads=BYTES stack=BYTES barriers=N
    constant=BYTES                                                           (one line a kernel)

So whatever nvcc rejects is rejected here too, in nvcc's words.  --ptx keeps its meaning, with line numbers added;
everything else (--preprocess, host programs) goes to nvcc untouched.  Imports are few: every compilation starts this.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zlib

from softcuda import __version__

MODES = {"cubin": "cubin", "fatbin": "fatbin", "ptx": "ptx", "preprocess": "preprocess", "E": "preprocess",
         "version": "version", "V": "version"}  # fmt: skip
RELOCATABLE = {"dc", "device-c", "dw", "device-w", "dlink", "device-link"}
# Options of nvcc whose value may be the next argument, as far as this file has to step over them.
TAKES_VALUE = set(
    """
    o output-file I include-path isystem system-include include pre-include D define-macro U undefine-macro
    L library-path l library arch gpu-architecture code gpu-code gencode generate-code Xcompiler compiler-options
    Xptxas ptxas-options Xlinker linker-options Xnvlink nvlink-options ccbin compiler-bindir std x maxrregcount
    odir output-directory keep-dir t threads m machine optf options-file rdc relocatable-device-code ftz prec-div
    prec-sqrt fmad O optimize diag-suppress diag-error diag-warn split-compile
    """.split()  # noqa: SIM905
)


class Request:
    """What a command line asks of nvcc; `rest` is the command line without -o and its value."""

    def __init__(self, arguments: list[str]) -> None:
        self.mode = ""
        self.output = ""
        self.folder = ""  # -odir
        self.keep = self.debug = self.relocatable = self.verbose = False
        self.compiler = os.environ.get("NVCC_CCBIN", "")
        self.inputs: list[str] = []
        self.rest: list[str] = []
        index = 0
        while index < len(arguments):
            whole, value = arguments[index], ""
            taken = [whole]
            index += 1
            name, has_value, value = whole.lstrip("-").partition("=")
            if not whole.startswith("-") or whole == "-":
                self.inputs.append(whole)
            elif name in TAKES_VALUE and not has_value and index < len(arguments):
                value = arguments[index]
                taken.append(value)
                index += 1
            if whole.startswith("-") and self._option(name, value):
                continue
            self.rest += taken

    def _option(self, name: str, value: str) -> bool:
        """Note what matters here; True if nvcc is not to see the option."""
        if name in MODES:
            self.mode = MODES[name]
        elif name in ("o", "output-file"):
            self.output = value
            return True
        elif name in ("odir", "output-directory"):
            self.folder = value
            return True
        elif name in ("keep", "save-temps"):
            self.keep = True
            return True
        elif name == "keep-dir":
            return True
        elif name in ("G", "device-debug"):
            self.debug = True
        elif name in RELOCATABLE or (name in ("rdc", "relocatable-device-code") and value == "true"):
            self.relocatable = True
        elif name in ("ccbin", "compiler-bindir"):
            self.compiler = value
        elif name in ("resource-usage", "res-usage"):
            self.verbose = True
        elif name in ("Xptxas", "ptxas-options"):
            self.verbose = self.verbose or bool({"-v", "--verbose"} & set(value.replace(",", " ").split()))
        return False

    def output_path(self) -> str:
        """Where nvcc would put the result."""
        if self.output:
            return self.output
        stem = os.path.splitext(os.path.basename(self.inputs[0]))[0] if self.inputs else "kernel"
        return os.path.join(self.folder, f"{stem}.{self.mode}")


def fail(message: str) -> None:
    sys.stderr.write(f"softcuda: {message}\n")
    sys.exit(1)


def find_nvcc() -> str:
    """NVIDIA's own nvcc from the Python packages; the hook names their folder."""
    beside = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "nvidia", "cu13")
    for toolkit in (os.environ.get("SOFTCUDA_TOOLKIT"), beside):
        if toolkit and os.access(path := os.path.join(toolkit, "bin", "nvcc"), os.X_OK):
            return path
    from softcuda._toolkit import INSTALL

    fail(f"NVIDIA's nvcc is not installed: {INSTALL}")
    return None


def need_host_compiler(request: Request) -> None:
    """nvcc preprocesses with the host's C++ compiler and says little when there is none."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if request.compiler or any(os.access(os.path.join(folder, "g++"), os.X_OK) for folder in folders):
        return
    fail("nvcc needs a host C++ compiler and there is no g++ on PATH: apt-get install g++")


def identity(nvcc: str) -> str:
    """nvcc's own answer and a line of ours: PyCUDA keys its cache with it, and these outputs are no cubins."""
    answer = subprocess.run([nvcc, "--version"], capture_output=True, text=True, errors="replace").stdout
    with open(__file__, "rb") as own:
        revision = zlib.crc32(own.read())
    return f"{answer.rstrip()}\nsoftcuda {__version__}, PTX in place of cubins ({revision:08x})\n"


def split_ptxas_info(text: str) -> tuple[dict[tuple[int, str], str], str]:
    """Notes by (architecture, kernel) from what `ptxas -v` said, and its messages without the figures."""
    notes, messages = {}, []
    kernel, figures = (0, ""), {}
    for line in text.splitlines(keepends=True):
        if match := re.match(r"ptxas info\s*: Compiling entry function '(.+)' for 'sm_(\d+)", line):
            kernel, figures = (int(match[2]), match[1]), {}
        elif match := re.match(r"\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+)", line):
            # Device functions that were not inlined follow with their own; the kernel's figures come first.
            for key, value in zip(("stack", "spill_stores", "spill_loads"), match.groups(), strict=True):
                figures.setdefault(key, int(value))
        elif match := re.match(r"ptxas info\s*: Used (\d+) registers(.*)", line):
            figures["registers"] = int(match[1])
            for key, pattern in (("shared", r"(\d+) bytes smem"), ("barriers", r"used (\d+) barriers")):
                found = re.search(pattern, match[2])
                figures[key] = int(found[1]) if found else 0
            order = ("registers", "shared", "spill_stores", "spill_loads", "stack", "barriers")
            words = " ".join(f"{key}={figures.get(key, 0)}" for key in order)
            notes[kernel] = f"// softcuda: kernel={kernel[1]} {words}"
        elif not re.match(r"ptxas info\s*: (?!\()", line):  # "(C7508) ..." is advice, and stays
            messages.append(line)
    return notes, "".join(messages)


def name_source(message: str, ptx: str) -> str:
    """Add the CUDA source line to ptxas messages, which name lines of a temporary PTX file."""
    lines = ptx.splitlines()
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx, re.MULTILINE))
    out = []
    for line in message.splitlines(keepends=True):
        out.append(line)
        if match := re.match(r"ptxas .*, line (\d+)", line):
            for above in reversed(lines[: int(match[1])]):
                if found := re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", above):
                    out.append(f"softcuda: this comes from {files.get(found[1], '?')}, line {found[2]}\n")
                    break
    return "".join(out)


def local_names(ptx: str) -> str:
    """File names relative to the folder of the compilation, as `#line` gave them."""
    return ptx.replace('"' + os.getcwd().rstrip("/") + "/", '"')


def constant_bytes(ptx: str) -> int:
    """Bytes of __constant__ variables in the module; ptxas no longer says (padding between them is left out)."""
    total = 0
    declaration = r"^(?:\.visible\s+)?\.const\s.*?\.[busf](\d+)\s+[\w$]+(?:\[(\d+)\])?"
    for bits, count in re.findall(declaration, ptx, re.MULTILINE):
        total += int(bits) // 8 * int(count or 1)
    return total


def target(ptx: str) -> int:
    return int(found[1]) if (found := re.search(r"^\.target\s+sm_(\d+)", ptx, re.MULTILINE)) else 0


def write(path: str, text: str) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w") as out:
        out.write(text)
    os.replace(temporary, path)


def compile_device(nvcc: str, request: Request, scratch: str) -> int:
    """Run nvcc with its intermediate files kept in `scratch`, and leave the PTX where the result is expected."""
    command = [nvcc, *request.rest, "--keep", "--keep-dir", scratch, "-o", os.path.join(scratch, "result")]
    if not request.debug:  # -G implies it, and says so
        command.append("-lineinfo")
    if request.mode != "ptx":
        command += ["-Xptxas", "-v"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    texts = []
    for name in os.listdir(scratch):
        if name.endswith(".ptx") or (name == "result" and request.mode == "ptx"):
            with open(os.path.join(scratch, name), errors="replace") as kept:
                texts.append(local_names(kept.read()))
    ptx = max(texts, key=target, default="")  # several -gencode: the newest architecture
    notes, messages = split_ptxas_info(done.stderr)
    if request.verbose:
        messages = done.stderr
    messages = name_source(messages, ptx).replace(scratch + "/", "")
    sys.stdout.write(done.stdout)
    sys.stderr.write(messages)
    if done.returncode:
        return done.returncode
    if not ptx:
        fail("nvcc left no PTX")
    constant = f" constant={constant_bytes(ptx)}"
    known = [note + constant for (architecture, _), note in sorted(notes.items()) if architecture == target(ptx)]
    if known:
        ptx = ptx.rstrip("\0\n") + "\n\n" + "\n".join(known) + "\n"
    write(request.output_path(), ptx)
    if request.keep:
        write(os.path.splitext(request.output_path())[0] + ".ptx", ptx)
    return 0


def main() -> None:
    arguments = sys.argv[1:]
    request = Request(arguments)
    nvcc = find_nvcc()
    if request.mode == "version":
        sys.stdout.write(identity(nvcc))
        return
    need_host_compiler(request)
    if request.relocatable:
        fail("relocatable device code (-rdc=true, -dc; PyCUDA's DynamicSourceModule) is not supported yet")
    if request.mode not in ("cubin", "fatbin", "ptx"):
        os.execv(nvcc, [nvcc, *arguments])
    root = os.environ.get("TMPDIR") or "/tmp"
    scratch = os.path.join(root, f"softcuda-{os.getpid()}-{os.urandom(6).hex()}")
    try:
        os.mkdir(scratch, 0o700)
    except OSError as error:
        fail(f"cannot make a folder for temporary files: {error}")
    try:
        code = compile_device(nvcc, request, scratch)
    except OSError as error:
        sys.stderr.write(f"softcuda: nvcc: {error}\n")
        code = 1
    finally:
        for name in os.listdir(scratch):
            os.unlink(os.path.join(scratch, name))
        os.rmdir(scratch)
    sys.exit(code)
