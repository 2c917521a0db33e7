"""The compiler stand-in: NVIDIA's nvcc does the whole work, ptxas included; only what it leaves behind differs.

Where a cubin (or a fatbin) is asked for, the output file holds the PTX that ptxas has just accepted, followed by what
ptxas found out about each kernel:

    // softcuda: kernel=NAME registers=N shared=BYTES spill_stores=BYTES spill_loads=BYTES stack=BYTES barriers=N
    constant=BYTES                                                           (one line a kernel)

So whatever nvcc rejects is rejected here too, in nvcc's words.  --ptx keeps its meaning, with line numbers added;
everything else (--preprocess, host programs) goes to nvcc untouched.

Relocatable device code: an object (-dc) is such PTX too, a library (-lib) and a linked image (-dlink) are several, one
after another, each behind a line `// softcuda: module NAME` (`member` in a library), which softcuda's driver links when
it loads them.  What -dlink is given goes through NVIDIA's ptxas and nvlink first, so that they can object.

Imports are few: every compilation starts this.
"""

from __future__ import annotations

import binascii
import os
import re
import signal
import subprocess
import sys
import zlib

from softcuda import __version__

MODES = {"cubin": "cubin", "fatbin": "fatbin", "ptx": "ptx", "preprocess": "preprocess", "E": "preprocess",
         "version": "version", "V": "version"}  # fmt: skip
MODES |= {"dc": "o", "device-c": "o", "dw": "o", "device-w": "o", "lib": "a"}
SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c")
MODULE, MEMBER, RUNTIME = "// softcuda: module ", "// softcuda: member ", "// softcuda: library cudadevrt\n"
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

PTXAS = "ptxas(?:-blackwell)?"  # its messages begin with the name of its file; Triton has two

# What PyCUDA's SourceModule puts around a source.
WRAPPER = (b'extern "C" {\n', b"\n}\n")


class Request:
    """What a command line asks of nvcc; `rest` is the command line without -o and its value."""

    def __init__(self, arguments: list[str]) -> None:
        self.mode = ""
        self.output = ""
        self.folder = ""  # -odir
        self.keep = self.debug = self.links = self.verbose = self.device_runtime = False
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
            if self.mode in ("o", "a"):  # -dc and -lib, which are done here
                return True
        elif name in ("dlink", "device-link"):
            self.links = True
            return True
        elif name == "lcudadevrt" or (name in ("l", "library") and value == "cudadevrt"):
            self.device_runtime = True
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
        elif name in ("ccbin", "compiler-bindir"):
            self.compiler = value
        elif name in ("resource-usage", "res-usage"):
            self.verbose = True
        elif name in ("Xptxas", "ptxas-options"):
            self.verbose = self.verbose or bool({"-v", "--verbose"} & set(value.replace(",", " ").split()))
        return False

    def output_path(self, source: str = "") -> str:
        """Where nvcc would put the result (of one of several sources)."""
        if self.output:
            return self.output
        source = source or (self.inputs[0] if self.inputs else "kernel")
        stem = os.path.splitext(os.path.basename(source))[0]
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
        if match := re.match(rf"{PTXAS} info\s*: Compiling entry function '(.+)' for 'sm_(\d+)", line):
            kernel, figures = (int(match[2]), match[1]), {}
        elif match := re.match(r"\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+)", line):
            # Device functions that were not inlined follow with their own; the kernel's figures come first.
            for key, value in zip(("stack", "spill_stores", "spill_loads"), match.groups(), strict=True):
                figures.setdefault(key, int(value))
        elif match := re.match(rf"{PTXAS} info\s*: Used (\d+) registers(.*)", line):
            figures["registers"] = int(match[1])
            for key, pattern in (("shared", r"(\d+) bytes smem"), ("barriers", r"used (\d+) barriers")):
                found = re.search(pattern, match[2])
                figures[key] = int(found[1]) if found else 0
            order = ("registers", "shared", "spill_stores", "spill_loads", "stack", "barriers")
            words = " ".join(f"{key}={figures.get(key, 0)}" for key in order)
            notes[kernel] = f"// softcuda: kernel={kernel[1]} {words}"
        elif not re.match(rf"{PTXAS} info\s*: (?!\()", line):  # "(C7508) ..." is advice, and stays
            messages.append(line)
    return notes, "".join(messages)


def name_source(message: str, ptx: str) -> str:
    """Add the CUDA source line to ptxas messages, which name lines of a temporary PTX file."""
    lines = ptx.splitlines()
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx, re.MULTILINE))
    out = []
    for line in message.splitlines(keepends=True):
        out.append(line)
        if match := re.match(rf"{PTXAS} .*, line (\d+)", line):
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


def read_source(path: str) -> tuple[bytes, bool]:
    """A source, and whether its first line is not the author's: PyCUDA's SourceModule puts `extern "C" {` before."""
    try:
        with open(path, "rb") as source:
            text = source.read()
    except OSError:
        return b"", False
    wrapped = os.path.basename(path) == "kernel.cu" and text.startswith(WRAPPER[0]) and text.endswith(WRAPPER[1])
    return text, wrapped and not re.search(rb"^\s*#\s*(line\s+)?\d", text, re.MULTILINE)


def own_lines(ptx: str, path: str) -> str:
    """Lines of `path` counted as in the text that was given to SourceModule."""
    files = re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx, re.MULTILINE)
    numbers = "|".join(number for number, name in files if os.path.basename(name) == os.path.basename(path))
    if not numbers:
        return ptx

    def one_less(match: re.Match[str]) -> str:
        return f"{match[1]}{max(1, int(match[2]) - 1)}"

    return re.sub(rf"^(\s*\.loc\s+(?:{numbers})\s+)(\d+)", one_less, nested(ptx, numbers, one_less), flags=re.MULTILINE)


def nested(ptx: str, numbers: str, one_less) -> str:
    """The lines that inlined code came from, in the rest of a .loc."""
    return re.sub(rf"^(\s*\.loc\s.*\binlined_at\s+(?:{numbers})\s+)(\d+)", one_less, ptx, flags=re.MULTILINE)


def source_note(path: str) -> str:
    """The source that was compiled, so that who shows its lines need not find it again: PyCUDA deletes it."""
    text, wrapped = read_source(path)
    if not text:
        return ""
    if wrapped:
        text = text[len(WRAPPER[0]) : -len(WRAPPER[1])] + b"\n"
    return packed_note(os.path.relpath(path), text)


def packed_note(name: str, text: bytes) -> str:
    packed = binascii.b2a_base64(zlib.compress(text, 9), newline=False).decode()
    return f"// softcuda: source={name} text={packed}"


def target(ptx: str) -> int:
    return int(found[1]) if (found := re.search(r"^\.target\s+sm_(\d+)", ptx, re.MULTILINE)) else 0


def write(path: str, text: str) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w") as out:
        out.write(text)
    os.replace(temporary, path)


def warn_of_mixture(nvcc: str) -> None:
    """What may be behind an error in a header."""
    from pathlib import Path

    from softcuda._toolkit import mixture

    if text := mixture(Path(nvcc).parents[1]):
        sys.stderr.write(f"softcuda: mixed packages: {text}\n")


def compile_source(nvcc: str, request: Request, options: list[str], scratch: str) -> str:
    """Run nvcc with its intermediate files kept in `scratch`; the PTX with its notes.  Exits where nvcc fails."""
    command = [nvcc, *options, "--keep", "--keep-dir", scratch, "-o", os.path.join(scratch, "result")]
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
    for path in request.inputs:
        if read_source(path)[1]:
            texts = [own_lines(text, path) for text in texts]
    ptx = max(texts, key=target, default="")  # several -gencode: the newest architecture
    notes, messages = split_ptxas_info(done.stderr)
    if request.verbose:
        messages = done.stderr
    messages = name_source(messages, ptx).replace(scratch + "/", "")
    sys.stdout.write(done.stdout)
    sys.stderr.write(messages)
    if done.returncode:
        warn_of_mixture(nvcc)
        sys.exit(done.returncode)
    if not ptx:
        fail("nvcc left no PTX")
    constant = f" constant={constant_bytes(ptx)}"
    known = [note + constant for (architecture, _), note in sorted(notes.items()) if architecture == target(ptx)]
    known += [note for path in request.inputs if (note := source_note(path))]
    if known:
        ptx = ptx.rstrip("\0\n") + "\n\n" + "\n".join(known) + "\n"
    return ptx


def in_scratch(work, *arguments):
    """work(*arguments, folder) with a folder that is gone afterwards, also when a signal ends this process."""
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) == signal.SIG_DFL:
            signal.signal(ending, lambda number, _: sys.exit(128 + number))
    root = os.environ.get("TMPDIR") or "/tmp"
    scratch = os.path.join(root, f"softcuda-{os.getpid()}-{os.urandom(6).hex()}")
    try:
        os.mkdir(scratch, 0o700)
    except OSError as error:
        fail(f"cannot make a folder for temporary files: {error}")
    try:
        return work(*arguments, scratch)
    except OSError as error:
        fail(f"nvcc: {error}")
    finally:
        for name in os.listdir(scratch):
            os.unlink(os.path.join(scratch, name))
        os.rmdir(scratch)


def object_options(request: Request, source: str) -> list[str]:
    """nvcc's options to compile one of several sources to a relocatable cubin."""
    shared = [word for word in request.rest if word not in request.inputs and word.lstrip("-") not in MODES]
    relocatable = [] if {"-rdc=true", "--relocatable-device-code=true"} & set(shared) else ["-rdc=true"]
    return [*shared, *relocatable, "--cubin", source]


def read_part(nvcc: str, request: Request, path: str, mark: str) -> str:
    """A source, object or library as part of an image: its modules, each behind its mark."""
    name = os.path.basename(path)
    if path.endswith(SOURCES):
        need_host_compiler(request)
        return f"{mark}{name}\n" + in_scratch(compile_source, nvcc, request, object_options(request, path))
    try:
        with open(path, errors="replace") as file:
            text = file.read()
    except OSError as error:
        fail(f"cannot link {path}: {error.strerror}")
    if text.startswith(RUNTIME) or MODULE in text or MEMBER in text:
        return text
    if not re.match(r"(\s|//.*\n)*\.version\b", text):
        fail(f"cannot link {path}: it is no object or library that softcuda's nvcc made (with -dc, -rdc=true or -lib)")
    return f"{mark}{name}\n{text}"


def check_link(nvcc: str, image: str, device_runtime: bool, scratch: str) -> None:
    """Let NVIDIA's ptxas and nvlink link the image's modules; exit with their words if they cannot."""
    folder = os.path.dirname(nvcc)
    architecture = f"-arch=sm_{max(target(part) for part in re.split(f'^(?:{MODULE}|{MEMBER})', image, flags=re.M))}"
    objects = []
    parts = re.split(f"^({MODULE}|{MEMBER})(.*)\n", image, flags=re.MULTILINE)
    for index in range(1, len(parts), 3):
        source, result = (os.path.join(scratch, f"{index}.{kind}") for kind in ("ptx", "cubin"))
        write(source, parts[index + 2])
        commands = [os.path.join(folder, "ptxas"), "-c", architecture, source, "-o", result]
        done = subprocess.run(commands, capture_output=True, text=True, errors="replace")
        if done.returncode:
            sys.stderr.write(done.stderr.replace(source, parts[index + 1]))
            sys.exit(done.returncode)
        objects.append((result, parts[index + 1]))
    command = [os.path.join(folder, "nvlink"), architecture, *(path for path, _ in objects)]
    if device_runtime:
        command += ["-L", os.path.join(os.path.dirname(folder), "lib"), "-lcudadevrt"]
    done = subprocess.run(
        [*command, "-o", os.path.join(scratch, "linked")], capture_output=True, text=True, errors="replace"
    )
    messages = done.stdout + done.stderr
    for path, name in objects:
        messages = messages.replace(path, name).replace(os.path.basename(path), name)
    sys.stderr.write(messages)
    if done.returncode:
        sys.exit(done.returncode)


def join_modules(nvcc: str, request: Request) -> None:
    """-lib and -dlink: several modules in one file."""
    if not request.inputs:
        fail("nvcc: no input files to link")
    mark = MEMBER if request.mode == "a" else MODULE
    parts = [read_part(nvcc, request, path, mark) for path in request.inputs]
    image = "".join(part if part.endswith("\n") else part + "\n" for part in parts)
    device_runtime = request.device_runtime or RUNTIME in image
    image = image.replace(RUNTIME, "")
    if request.links:
        in_scratch(check_link, nvcc, image, device_runtime)
        if device_runtime:
            image = RUNTIME + image
    request.output = request.output or os.path.join(request.folder, "a.a" if request.mode == "a" else "a_dlink.o")
    write(request.output, image)


def compile_objects(nvcc: str, request: Request) -> None:
    """-dc: an object for each source."""
    if request.output and len(request.inputs) > 1:
        fail("nvcc: -o names one object, but there are several sources")
    for source in request.inputs:
        options = object_options(request, source)
        write(request.output_path(source), in_scratch(compile_source, nvcc, request, options))


def main() -> None:
    arguments = sys.argv[1:]
    request = Request(arguments)
    nvcc = find_nvcc()
    if request.mode == "version":
        sys.stdout.write(identity(nvcc))
        return
    if request.links or request.mode == "a":
        join_modules(nvcc, request)
        return
    need_host_compiler(request)
    if request.mode == "o":
        compile_objects(nvcc, request)
        return
    if request.mode not in ("cubin", "fatbin", "ptx"):
        os.execv(nvcc, [nvcc, *arguments])
    ptx = in_scratch(compile_source, nvcc, request, request.rest)
    write(request.output_path(), ptx)
    if request.keep:
        write(os.path.splitext(request.output_path())[0] + ".ptx", ptx)
