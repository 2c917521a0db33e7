"""The workbench behind `make serve`: pages judge answers to exercises, and run a program with an edited kernel.

It compiles and runs what a page posts, so it is guarded as such servers are. It exists only where the server is bound
to a loopback address, and for the user who started it. A request must name this server (Host), come from one of its
pages (Origin), and carry two secrets: a cookie that other sites cannot have sent, and a key that only this site's
scripts can read. Bodies are small.

What is posted is CUDA code. nvcc makes device code of it, which softcuda runs; its host code is never run. An answer
that is a Triton kernel is Python: Triton compiles it if it holds kernels and numbers alone (warpjudge/triton_child.py).
This happens in processes of their own, with limits, in a temporary folder. Besides, only the reader's answer in my/ is
written.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import ipaddress
import json
import os
import re
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

from warpbook import tools
from warpbook.blocks import listings
from warpbook.book import LANGUAGES, PLACES, Book, BookError, write_bytes, write_text
from warpbook.exercises import commands, exercises, progress

PREFIX = "/_workbench/"
FOLDER = "theme/workbench"
TYPES = {"workbench.js": "text/javascript", "workbench.css": "text/css", "editor.js": "text/javascript"}
KEY = "X-Warpbook-Key"  # the header that carries the key
MOST_BYTES = 256 << 10  # of a request's body
MOST_CODE = 64 << 10  # of an answer, as the judge's; a kernel file of the book may have as many, too
AT_ONCE = max(2, os.cpu_count() or 2)  # jobs at work; others wait
PATIENCE = 30.0  # seconds that a job waits to begin
PAGE = re.compile(r"[\w-]{8,64}")
BOUNDS = {"seconds": 120, "cpu": 240, "memory": 8 << 30, "printed": 256 << 10}  # of a program
LIMITED = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)  # ends with the server
from warpjudge.limits import limit_this_process
limit_this_process({cpu}, {memory})
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
ERROR = r"^\[?(?:stderr:\s*)?{}\((\d+)\): (?:fatal )?error(?: *#[\w-]+)?\s*:? ?(.*)$"
SAFE = [
    ("Cache-Control", "no-store"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
]
WORDS = {
    "en": {
        "setup": "Running code needs softcuda and the compiler: run `make setup`, then start `make serve` again.",
        "triton": "This exercise needs Triton: run `make setup-torch`, then press the button again.",
        "busy": "This page is running something; stop it first, or wait.",
        "full": "The machine is busy with other pages; try again in a moment.",
        "changed": "{path} was changed outside this page.",
        "link": "{path}: a symbolic link leads out of my/; replace it with a file.",
        "long": "The code has {bytes} bytes; {limit} are the limit.",
        "include": "line {line}: `#include {what}` is not allowed; only `<…>` and what the file had before is.",
        "late": "Stopped: the program had not ended after {seconds} s.",
        "chatty": "Stopped: the program had printed {kilobytes} KiB.",
        "killed": "The program was ended: it used more CPU time or memory than it may.",
    },
    "zh": {
        "setup": "运行代码需要 softcuda 和编译器：先运行 `make setup`，再重新启动 `make serve`。",
        "triton": "这道题需要 Triton：先运行 `make setup-torch`，再点一次按钮。",
        "busy": "本页正在运行代码，请先停止它，或者等它结束。",
        "full": "其他页面正在占用这台机器，请稍后再试。",
        "changed": "{path} 已在本页之外被修改。",
        "link": "{path}：符号链接指向 my/ 之外，请换成普通文件。",
        "long": "代码有 {bytes} 字节，上限是 {limit} 字节。",
        "include": "第 {line} 行：不允许 `#include {what}`，只能用 `<…>` 和文件原有的包含。",
        "late": "已停止：程序 {seconds} 秒后仍未结束。",
        "chatty": "已停止：程序输出已达 {kilobytes} KiB。",
        "killed": "程序被终止：CPU 时间或内存超出了限制。",
    },
}

Response = tuple[str, list[tuple[str, str]], Iterable[bytes]]
Answer = dict[str, Any]


class Refusal(Exception):  # noqa: N818
    """A request that is not carried out: its status, and why."""

    def __init__(self, status: str, why: str, **more: object) -> None:
        super().__init__(why)
        self.status, self.more = status, more


class Workbench:
    """What pages of the server at `port` may ask for. `folder`: for temporary files, removed by its owner."""

    def __init__(self, book: Book, folder: Path, hosts: Iterable[str], port: int) -> None:
        self.book, self.folder = book, folder
        self.hosts = {f"{host}:{port}" for host in hosts} | ({*hosts} if port == 80 else set())
        self.cookie, self.cookie_name = secrets.token_urlsafe(24), f"warpbook-{port}"
        self.key = secrets.token_urlsafe(24)
        self.jobs: dict[str, Job] = {}  # by page
        self.lock = threading.Lock()
        self.slots = threading.BoundedSemaphore(AT_ONCE)
        self.judges = Judges(book.root / commands.CACHE)
        self.actions: dict[str, Callable[[Answer, str], Answer]] = {
            "open": self.open,
            "save": self.save,
            "judge": self.judge,
            "run": self.run,
            "source": self.source,
            "program": self.program,
            "stop": self.stop,
        }

    def close(self) -> None:
        for job in list(self.jobs.values()):
            job.stop()
        self.judges.close()

    # -- requests --------------------------------------------------------------------------------------------------

    def response(self, environ: dict[str, Any]) -> Response:
        name = str(environ["PATH_INFO"]).removeprefix(PREFIX)
        try:
            self.check_user(environ)
            self.check_host(environ)
            if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
                return self.static(name) if name in TYPES else self.session(environ, name)
            job, language = self.posted(environ, name)
            return as_json("200 OK", self.actions[name](job, language))
        except Refusal as error:
            return as_json(error.status, {"error": str(error), **error.more})
        except BookError as error:
            return as_json("404 Not Found", {"error": str(error)})
        except OSError as error:
            return as_json("500 Internal Server Error", {"error": f"{error.filename or ''}: {error.strerror}"})

    def check_user(self, environ: dict[str, Any]) -> None:
        """Another user of this machine can open the same port. Root can do anything anyway, and may relay a browser."""
        owner = owner_of(environ.get("REMOTE_ADDR", ""), environ.get("REMOTE_PORT", ""), environ.get("SERVER_PORT", ""))
        if owner not in (None, 0, os.getuid()):
            raise Refusal("403 Forbidden", "Code is run only for the user who started this server.")

    def check_host(self, environ: dict[str, Any]) -> None:
        if environ.get("HTTP_HOST", "").lower() not in self.hosts:
            raise Refusal("421 Misdirected Request", "This server has another name.")
        if environ.get("HTTP_SEC_FETCH_SITE", "same-origin") not in ("same-origin", "none"):
            raise Refusal("403 Forbidden", "Only pages of this server may ask.")

    def static(self, name: str) -> Response:
        body = bundle(self.book) if name == "editor.js" else (self.book.root / FOLDER / name).read_bytes()
        kind = ("Content-Type", f"{TYPES[name]}; charset=utf-8")
        return "200 OK", [kind, ("Content-Length", str(len(body))), *SAFE], [body]

    def session(self, environ: dict[str, Any], name: str) -> Response:
        """The key, for scripts of this site: pages of others can neither read it nor have the cookie sent."""
        if name != "session":
            raise Refusal("404 Not Found", "There is no such thing.")
        language = "zh" if environ.get("QUERY_STRING") == "zh" else "en"
        known = {name: bool(one.get("done")) for name, one in progress.read(self.book).items()}
        status, headers, body = as_json(
            "200 OK", {"key": self.key, "ready": is_ready(self.book), "why": words("setup", language), "done": known}
        )
        cookie = f"{self.cookie_name}={self.cookie}; Path={PREFIX}; HttpOnly; SameSite=Strict"
        return status, [*headers, ("Set-Cookie", cookie)], body

    def posted(self, environ: dict[str, Any], name: str) -> tuple[Answer, str]:
        """What a page asks for, and its language. Nothing is read from one that may not ask."""
        length = environ.get("CONTENT_LENGTH") or ""
        if not re.fullmatch(r"\d{1,12}", length):
            raise Refusal("411 Length Required", "Say how long the body is.")
        if int(length) > MOST_BYTES:
            raise Refusal("413 Content Too Large", f"The body has {length} bytes; {MOST_BYTES} are the limit.")
        body = environ["wsgi.input"].read(int(length))  # also of one that is refused, or its answer would be lost
        if environ["REQUEST_METHOD"] != "POST":
            raise Refusal("405 Method Not Allowed", "Post it.")
        if environ.get("HTTP_ORIGIN", "").lower() != f"http://{environ['HTTP_HOST'].lower()}":
            raise Refusal("403 Forbidden", "Only pages of this server may ask.")
        cookies = parsed_cookies(environ.get("HTTP_COOKIE", ""))
        key = environ.get("HTTP_" + KEY.upper().replace("-", "_"), "")
        if not (same(cookies.get(self.cookie_name, ""), self.cookie) and same(key, self.key)):
            raise Refusal("403 Forbidden", "The page is of an earlier start of this server; load it again.")
        if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal("415 Unsupported Media Type", "Send JSON.")
        if name not in self.actions:
            raise Refusal("404 Not Found", "There is no such thing.")
        try:
            job = json.loads(body)
        except (ValueError, RecursionError):
            job = None
        if not isinstance(job, dict):
            raise Refusal("400 Bad Request", "This is no JSON object.")
        return job, language_of(job)

    # -- answers to exercises --------------------------------------------------------------------------------------

    def open(self, job: Answer, language: str) -> Answer:
        """The reader's answer, or the stub; and a judge that is ready sooner."""
        one = exercises.find(self.book, text_of(job, "exercise"))
        if one.lacks():
            raise Refusal("503 Service Unavailable", words("triton", language))
        if is_ready(self.book):
            self.judges.warm_up()
        kept = self.kept(one)
        return {"source": one.stub if kept is None else kept, "seen": digest(kept), "stub": one.stub,
                "language": one.language, "path": self.book.relative(progress.answer_path(self.book, one))}  # fmt: skip

    def kept(self, one: exercises.Exercise) -> str | None:
        """The answer in my/, None where there is none."""
        path = progress.answer_path(self.book, one)
        with suppress(FileNotFoundError), open(path, "rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")
        return None

    def save(self, job: Answer, language: str) -> Answer:
        """Write the answer to my/, unless it was changed since this page last saw it."""
        one, source = exercises.find(self.book, text_of(job, "exercise")), code_of(job, language)
        path = progress.answer_path(self.book, one)
        shown = self.book.relative(path)
        mine = self.book.root / progress.FOLDER
        if path.is_symlink() or not path.parent.resolve().is_relative_to(mine.resolve()):
            raise Refusal("409 Conflict", words("link", language, path=shown))
        with self.lock:
            now = self.kept(one)
            if digest(now) != job.get("seen") and now != source:
                raise Refusal("409 Conflict", words("changed", language, path=shown), source=now, seen=digest(now))
            write_text(path, source)
        return {"seen": digest(source)}

    def judge(self, job: Answer, language: str) -> Answer:
        return self.verdict(job, language, "judge")

    def run(self, job: Answer, language: str) -> Answer:
        """What the answer computes at one small size."""
        return self.verdict(job, language, "run")

    def verdict(self, job: Answer, language: str, mode: str) -> Answer:
        one, source = exercises.find(self.book, text_of(job, "exercise")), code_of(job, language)
        with self.at_work(job, language) as this, self.judges.lent() as judge:
            this.on_stop(judge.stop)
            verdict: Answer = judge(
                one.folder, source, name=one.name, language=language, section=one.section, mode=mode
            )
        if mode == "judge" and verdict["verdict"] not in ("failed", "stopped"):
            progress.note(self.book, one.name, verdict["verdict"])
        for message in verdict["messages"]:
            message["link"] = self.link(message.get("section", ""), language)
        return verdict

    def link(self, section: str, language: str) -> str:
        """The address of article#anchor; empty where there is no such page."""
        article, _, anchor = section.partition("#")
        page = self.book.page_of(article, language) if article else None
        if not page:
            return ""
        place = page.relative_to(self.book.docs / language).with_suffix("").as_posix()
        return "/" + "/".join(filter(None, (PLACES[language], place))) + f"/#{anchor}"

    # -- programs of the book --------------------------------------------------------------------------------------

    def source(self, job: Answer, language: str) -> Answer:
        """The whole of a kernel file that a program uses, and every program that uses it."""
        program, file, text = self.kernel_of(job)
        users = [one for one in self.book.programs(program.parent.name) if file in listings.beside(self.book, one)]
        return {"source": text, "programs": [f"{one.parent.name}/{one.stem}" for one in users]}

    def kernel_of(self, job: Answer) -> tuple[Path, str, str]:
        """(program, its kernel file, the file's text); only programs of the book, and files that they load."""
        article, _, stem = text_of(job, "program").partition("/")
        known = self.book.articles()
        program = next((p for p in self.book.programs(article) if p.stem == stem), None) if article in known else None
        if not program:
            raise BookError(f"{article}/{stem}: the book has no such program")
        file = text_of(job, "file")
        texts = {name: text for name, text in listings.beside(self.book, program).items() if name.endswith(".cu")}
        if file not in texts:
            raise BookError(f"{file}: {self.book.relative(program)} loads no such file")
        return program, file, texts[file]

    def program(self, job: Answer, language: str) -> Answer:
        """What the program prints when the file is as the reader has edited it."""
        program, file, before = self.kernel_of(job)
        source = code_of(job, language)
        if wrong := foreign_include(source, before):
            line, what = wrong
            note = {"kind": "compile", "line": line, "text": words("include", language, line=line, what=what)}
            return {"verdict": "compile", "messages": [note], "printed": "", "seconds": 0.0}
        with self.at_work(job, language) as this:
            return run_program(self.book, self.folder, program, file, source, language, this)

    # -- jobs ------------------------------------------------------------------------------------------------------

    @contextmanager
    def at_work(self, job: Answer, language: str) -> Iterator[Job]:
        """One job at a time for each page, and as many as the machine has processors for all."""
        if not is_ready(self.book):
            raise Refusal("503 Service Unavailable", words("setup", language))
        page, this = page_of(job), Job()
        with self.lock:
            if page in self.jobs:
                raise Refusal("409 Conflict", words("busy", language))
            self.jobs[page] = this
        try:
            end = time.monotonic() + PATIENCE
            while not (taken := self.slots.acquire(timeout=0.05)) and not this.stopped and time.monotonic() < end:
                pass
            if not taken and not this.stopped:
                raise Refusal("503 Service Unavailable", words("full", language))
            try:
                yield this
            finally:
                if taken:
                    self.slots.release()
        finally:
            with self.lock:
                del self.jobs[page]
            this.over.set()

    def stop(self, job: Answer, language: str) -> Answer:
        with self.lock:
            running = self.jobs.get(page_of(job))
        if running:
            running.stop()
        return {"stopped": bool(running)}


class Job:
    """One that a page has begun, and how to stop it."""

    def __init__(self) -> None:
        self.stopped, self.over = False, threading.Event()
        self.end: Callable[[], None] = lambda: None

    def on_stop(self, end: Callable[[], None]) -> None:
        self.end = end

    def stop(self) -> None:
        """End it; again and again, until it has noticed: it may be about to begin."""
        self.stopped = True
        for _ in range(200):
            self.end()
            if self.over.wait(0.02):
                return


class Judges:
    """Judges that wait for work. One of them keeps a process ready, so that the next verdict comes sooner."""

    def __init__(self, cache: Path) -> None:
        self.cache, self.idle, self.lock, self.closed = cache, list[Any](), threading.Lock(), False

    def take(self) -> Any:
        from warpjudge import Judge

        with self.lock:
            return self.idle.pop() if self.idle else Judge(cache=self.cache)

    def give(self, judge: Any) -> None:
        with self.lock:
            if keep := not self.closed and not self.idle:
                self.idle.append(judge)
        if not keep:
            judge.close()

    @contextmanager
    def lent(self) -> Iterator[Any]:
        judge = self.take()
        try:
            yield judge
        finally:
            self.give(judge)

    def warm_up(self) -> None:
        with self.lent() as judge:
            judge.warm_up()

    def close(self) -> None:
        with self.lock:
            self.closed = True
            idle, self.idle = self.idle, []
        for judge in idle:
            judge.close()


def run_program(book: Book, temporary: Path, program: Path, file: str, source: str, language: str, job: Job) -> Answer:
    """Run `program` on a copy of snippets/ in which `file` has the text `source`."""
    start = time.monotonic()
    folder = Path(tempfile.mkdtemp(dir=temporary, prefix="run-"))
    try:
        shutil.copytree(book.snippets, folder / "snippets", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / file).write_text(source, "utf-8")
        (folder / "tmp").mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SOFTCUDA", "PYCUDA", "NVCC_", "XDG_"))}
        paths = [str(folder / "snippets"), *filter(None, [os.environ.get("PYTHONPATH")])]
        kept |= {"HOME": str(folder), "TMPDIR": str(folder / "tmp"), "PYTHONPATH": os.pathsep.join(paths)}
        kept |= {"SOFTCUDA": "force", "SOFTCUDA_QUIET": "1", "PYTHONIOENCODING": "utf-8", "PYTHONUNBUFFERED": "1"}
        begin = LIMITED.format(**BOUNDS)
        name = book.relative(program)
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", begin, name],
            cwd=folder,
            env=kept,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        job.on_stop(lambda: end_group(process))
        printed, ending = read_output(process, job, start + BOUNDS["seconds"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = printed.decode("utf-8", "replace").replace(f"{folder}/", "")
    found = re.findall(ERROR.format(re.escape(file)), text, re.MULTILINE)
    messages = [{"kind": "compile", "line": int(line), "text": said} for line, said in found[:5]]
    verdict = "compile" if messages else "done" if not process.returncode else "failed"
    if ending:
        verdict = "stopped"
        kilobytes = BOUNDS["printed"] >> 10
        if ending != "stopped":
            said = words(ending, language, seconds=BOUNDS["seconds"], kilobytes=kilobytes)
            messages = [{"kind": "stopped", "line": 0, "text": said}]
    elif process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        messages = [{"kind": "failed", "line": 0, "text": words("killed", language)}]
    seconds = round(time.monotonic() - start, 3)
    return {"verdict": verdict, "messages": messages, "printed": text, "seconds": seconds}


def read_output(process: subprocess.Popen[bytes], job: Job, end: float) -> tuple[bytes, str]:
    """(what it printed, why it was ended before its time): "stopped", "late", "chatty" or nothing."""
    assert process.stdout
    printed, why = bytearray(), ""
    try:
        while True:
            if job.stopped:
                why = "stopped"
                break
            ready, _, _ = select.select([process.stdout], [], [], 0.05)
            if ready:
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    break
                printed += piece
            if len(printed) > BOUNDS["printed"]:
                why = "chatty"
                break
            if time.monotonic() > end:
                why = "late"
                break
        if not why:
            with suppress(subprocess.TimeoutExpired):
                process.wait(1)
    finally:
        end_group(process)
        process.stdout.close()
    return bytes(printed[: BOUNDS["printed"]]), "stopped" if job.stopped else why  # Stop also ends its output


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session, and all in its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def foreign_include(source: str, before: str) -> tuple[int, str] | None:
    """The first #include of a file that is neither the toolkit's nor was in the text before: (line, what)."""
    from warpjudge.compiler import forbidden_includes

    had = {what for _, what in forbidden_includes(before)}
    return next(((line, what[:80]) for line, what in forbidden_includes(source) if what not in had), None)


# -- what is needed ----------------------------------------------------------------------------------------------------


def is_ready(book: Book) -> bool:
    """Whether kernels can be compiled and run here: `make serve` alone installs neither softcuda nor a compiler."""
    packages = all(importlib.util.find_spec(name) for name in ("softcuda", "pycuda", "nvidia"))
    return packages and (book.root / "node_modules" / "esbuild").is_dir()


def bundle(book: Book) -> bytes:
    """The editor with all that it imports, as one script; made when it is first asked for, and kept if it can be."""
    entry = book.root / FOLDER / "editor.js"
    lock = book.root / "node_modules" / ".package-lock.json"
    name = hashlib.sha256(entry.read_bytes() + (lock.read_bytes() if lock.exists() else b"")).hexdigest()[:16]
    made = book.root / ".cache" / "workbench" / f"editor-{name}.js"
    with suppress(FileNotFoundError):
        return made.read_bytes()
    options = ["--bundle", "--format=esm", "--minify", "--target=es2022", "--log-level=error"]
    command = [tools.node(), str(book.root / "node_modules" / "esbuild" / "bin" / "esbuild"), str(entry), *options]
    done = subprocess.run(command, cwd=book.root, capture_output=True, timeout=60)
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[:1]
        raise BookError(f"{FOLDER}/editor.js: esbuild could not bundle it; run `make setup` ({''.join(last)})")
    with suppress(OSError):  # a checkout that cannot be written keeps no caches
        write_bytes(made, done.stdout)
    return done.stdout


# -- small things ------------------------------------------------------------------------------------------------------


def owner_of(address: str, port: str, server_port: str) -> int | None:
    """The user whose connection comes from that address; None where the system keeps no such list (only Linux does).

    -1: nobody's any more, since the one who asked has closed it. The list is `/proc/net/tcp`, for IPv6 `tcp6`.
    """
    try:
        number = ipaddress.ip_address(address)
        lines = Path("/proc/net", "tcp6" if number.version == 6 else "tcp").read_text("ascii").splitlines()[1:]
    except (OSError, ValueError):
        return None
    words = [number.packed[at : at + 4] for at in range(0, len(number.packed), 4)]
    start = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)  # words as this machine has them
    client, server = f"{start}:{int(port):04X}", f":{int(server_port):04X}"
    for line in lines:
        fields = line.split()
        if fields[1] == client and fields[2].endswith(server):
            return int(fields[7]) if fields[9] != "0" else -1
    return -1


def as_json(status: str, what: object) -> Response:
    body = json.dumps(what).encode()  # in ASCII: a text may have half a surrogate pair, which no UTF-8 has
    kind = ("Content-Type", "application/json; charset=utf-8")
    return status, [kind, ("Content-Length", str(len(body))), *SAFE], [body]


def words(name: str, language: str = LANGUAGES[0], **values: object) -> str:
    return WORDS[language][name].format(**values)


def parsed_cookies(header: str) -> dict[str, str]:
    try:
        return {name: one.value for name, one in SimpleCookie(header).items()}
    except CookieError:
        return {}


def same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def language_of(job: Answer) -> str:
    return "zh" if job.get("language") == "zh" else "en"


def text_of(job: Answer, name: str) -> str:
    value = job.get(name)
    if not isinstance(value, str) or len(value) > 200:
        raise Refusal("400 Bad Request", f"{name} is missing.")
    return value


def page_of(job: Answer) -> str:
    page = job.get("page")
    if not isinstance(page, str) or not PAGE.fullmatch(page):
        raise Refusal("400 Bad Request", "page is missing.")
    return page


def code_of(job: Answer, language: str) -> str:
    source = job.get("source")
    if not isinstance(source, str):
        raise Refusal("400 Bad Request", "source is missing.")
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise Refusal("400 Bad Request", "source is no text.") from None
    if size > MOST_CODE:
        raise Refusal("413 Content Too Large", words("long", language, bytes=size, limit=MOST_CODE))
    return source


def digest(text: str | None) -> str:
    """What a page has seen of an answer; empty where there is none."""
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()
