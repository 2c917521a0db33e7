"""The process that judges one answer: `python -m warpjudge.worker`, started by judge.py as the leader of a session.

Reads a job, one JSON object on a line, from standard input, and writes the verdict, another, to standard output.  When
standard input ends, the caller has gone, and the whole session ends.  softcuda's driver reads its
settings once in a process, so each inspection has a process of its own, forked when everything is imported.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from warpjudge import compiler, counters, limits, soft, triton_compiler, words
from warpjudge.exercise import Exercise, ExerciseError, Random, Size, as_size, load

ACTS = {"read": "read", "reads": "read", "write": "write", "writes": "write", "atomic operation": "atomic"}
DEADLOCKS = ("barrier", "mbarrier")  # nothing was stopped: the checker saw that no thread can go on
ORDER = ("compile", "endless", "wrong", "slow")
MOST_MESSAGES = 5
PRINTED = 16 << 10
CHILD_SECONDS = 15
AT_ONCE = 2  # of several answers
SLOWER = 2  # Triton than nvcc: it compiles several variants
AT_LOADS = ("not-counted", "counted-twice", "miscounted", "wrapped")  # named where elements come in
WRONG_FIRST = ("outside", "input-changed")


def main() -> int:
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.environ |= {"SOFTCUDA": "force", "SOFTCUDA_QUIET": "1", "SOFTCUDA_MEMORY": "256M", "SOFTCUDA_THREADS": "1"}
    os.environ |= {"SOFTCUDA_TIMEOUT": "2", "OPENBLAS_NUM_THREADS": "1"}
    warm = "--warm" in sys.argv
    if warm:
        import_everything()
    line = sys.stdin.readline()
    if not line:
        leave_nothing()
        return 0
    threading.Thread(target=end_with_the_caller, daemon=True).start()
    job = json.loads(line)
    verdict = verdicts(job) if "sources" in job else verdict_on(job)
    answer.write(json.dumps(verdict, ensure_ascii=False) + "\n")
    answer.flush()
    os._exit(0)  # without waiting for the thread that reads


class MissingTriton(Exception):  # noqa: N818
    """The answer is a Triton kernel, and Triton is not installed."""


def verdict_on(job: dict[str, Any]) -> dict[str, Any]:
    try:
        return Judgement(job).verdict()
    except MissingTriton:
        text = words.sentence("no-triton", {}, job.get("language", "en"))
        return blank(job) | {"verdict": "failed", "messages": [message("failed", "no-triton", text)]}
    except ExerciseError as error:
        return failed(job, str(error))
    except Exception as error:
        return failed(job, f"{type(error).__name__}: {error}")


def verdicts(job: dict[str, Any]) -> list[dict[str, Any]]:
    """On each of job["sources"], two at a time, in processes that need to import nothing more."""
    import_everything()
    running: set[int] = set()
    for number, source in enumerate(job["sources"]):
        if len(running) == AT_ONCE:
            running.discard(os.wait()[0])
        folder = Path(str(number))
        folder.mkdir()
        process = os.fork()
        if process:
            running.add(process)
            continue
        try:
            os.chdir(folder)
            Path("verdict.json").write_text(json.dumps(verdict_on(job | {"source": source})), "utf-8")
        finally:
            os._exit(0)
    for process in running:
        os.waitpid(process, 0)
    return [json.loads(Path(str(number), "verdict.json").read_text("utf-8")) for number in range(len(job["sources"]))]


def end_with_the_caller() -> None:
    sys.stdin.read()
    group = os.getpgrp()
    if os.fork():
        return  # the other one ends this one
    os.setsid()
    os.killpg(group, signal.SIGKILL)
    leave_nothing()
    os._exit(0)


def leave_nothing() -> None:
    """Remove this process's folder: the caller does, if it lives."""
    if Path.cwd().name.startswith(limits.FOLDER):
        for _ in range(3):  # what was killed just now may have been writing
            shutil.rmtree(Path.cwd(), ignore_errors=True)
            time.sleep(0.05)


def import_everything() -> None:
    import pycuda.driver  # noqa: F401

    from warpjudge import runs  # noqa: F401

    soft.part("_check")
    soft.part("_profile")


def failed(job: dict[str, Any], why: str) -> dict[str, Any]:
    text = words.sentence("failed", {"what": " ".join(why.split())}, job.get("language", "en"))
    return blank(job) | {"verdict": "failed", "messages": [message("failed", "failed", text)]}


def blank(job: dict[str, Any]) -> dict[str, Any]:
    return {
        "exercise": job.get("name", ""),
        "verdict": "",
        "seed": job.get("seed", 0),
        "seconds": 0.0,
        "inputs": 0,
        "messages": [],
        "counters": {},
        "budget": {},
        "lines": [],
        "printed": "",
        "outputs": [],
    }


def message(kind: str, cause: str, text: str, lines: list[int] | None = None, section: str = "") -> dict[str, Any]:
    lines = lines or []
    return {
        "kind": kind,
        "cause": cause,
        "line": lines[0] if lines else 0,
        "lines": lines,
        "text": text,
        "section": section,
    }


class Judgement:
    """One answer on its way to a verdict."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job, self.start = job, time.monotonic()
        self.language, self.seed = job["language"], int(job["seed"])
        self.folder = Path.cwd()
        self.cache = Path(job["cache"]) if job.get("cache") else None
        self.exercise: Exercise
        self.section = self.printed = ""
        self.axes: list[str] = []

    def verdict(self) -> dict[str, Any]:
        found = blank(self.job)
        source = self.job["source"]
        self.exercise = load(self.job["folder"])
        self.section, self.axes = self.job.get("section", ""), self.exercise.axes
        if messages := self.refuse(source):
            return self.done(found | {"verdict": "compile", "messages": messages})
        compilation = self.compilation(source)
        import_everything()
        self.compiled = compilation.wait()
        if messages := self.compile_messages():
            return self.done(found | {"verdict": "compile", "messages": messages})
        return self.done(found | self.run())

    def done(self, found: dict[str, Any]) -> dict[str, Any]:
        found["seconds"] = round(time.monotonic() - self.start, 3)
        return found | {"printed": self.printed}

    # --- compiling ---

    def compilation(self, source: str) -> compiler.Compilation | triton_compiler.Compilation:
        """Begin to compile."""
        self.seconds = self.job["compile_seconds"] * (SLOWER if self.exercise.is_triton else 1)
        if self.exercise.is_triton:
            sizes = self.sizes()
            return triton_compiler.Compilation(source, self.exercise, sizes, self.folder, self.cache, self.seconds)
        return compiler.Compilation(source, self.folder, self.cache, self.seconds)

    def sizes(self) -> list[Size]:
        """All at which the kernel will be launched."""
        return [*self.exercise.all_sizes(Random(self.seed)), *self.counted_sizes()]

    def counted_sizes(self) -> list[Size]:
        """The budget's size, and one near it that nobody can foresee."""
        from warpjudge import runs

        if self.exercise.budget is None:
            return [self.exercise.all_sizes(Random(self.seed))[-1]]
        secret = runs.secret_budget_size(self.exercise, Random(self.seed ^ 0x5EED))
        return [as_size(self.exercise.budget.at), *([secret] if secret else [])]

    def refuse(self, source: str) -> list[dict[str, Any]]:
        if self.exercise.is_triton and not triton_compiler.is_there():
            raise MissingTriton
        bytes_ = len(source.encode())
        if bytes_ > compiler.MOST_BYTES:
            return [self.say("compile", "too-long", {"bytes": bytes_, "limit": compiler.MOST_BYTES})]
        if self.exercise.is_triton:
            return []  # triton_child.py looks at the source's syntax tree
        return [
            self.say("compile", "include", {"what": what[:80]}, [line])
            for line, what in compiler.forbidden_includes(source)[:MOST_MESSAGES]
        ]

    def compile_messages(self) -> list[dict[str, Any]]:
        done = self.compiled
        if done.timed_out:
            return [self.say("compile", "compile-time", {"seconds": f"{self.seconds:g}"})]
        if isinstance(done, triton_compiler.Compiled):
            return [self.triton_error(one) for one in done.errors[:MOST_MESSAGES]]
        if done.errors:
            return [
                self.say("compile", "syntax", {"line": line, "what": what}, [line])
                if line
                else self.say("compile", "compiler", {"what": what[:300]})
                for line, what in done.errors[:MOST_MESSAGES]
            ]
        if local := done.local_files():
            return [self.say("compile", "include", {"what": local[0][-80:]})]
        about = {"kernel": self.exercise.name, "signature": self.exercise.kernel}
        kernel = done.kernel(self.exercise.name) or ""
        if not kernel:
            return [self.say("compile", "no-kernel", about)]
        if done.entries()[kernel] != [one.ptx for one in self.exercise.parameters]:
            return [self.say("compile", "signature", about)]
        return []

    def triton_error(self, one: dict[str, Any]) -> dict[str, Any]:
        """What Triton, Python or the look at the syntax tree objects to."""
        line = int(one.get("line", 0))
        about = {"kernel": self.exercise.name, "signature": self.exercise.kernel, "line": line}
        what = " ".join(str(one.get("what", "")).split())[:300]
        cause = one["cause"] if line or one["cause"] != "syntax" else "compiler"
        return self.say("compile", cause, about | {"what": what}, [line] if line else [])

    def say(
        self, kind: str, cause: str, values: dict[str, Any], lines: list[int] | None = None,
        size: list[int] | None = None, text: dict[str, str] | None = None, section: str = "",
    ) -> dict[str, Any]:  # fmt: skip
        triton = self.exercise.is_triton
        sentence = words.sentence(cause, values, self.language, size, text, self.axes, triton)
        return message(kind, cause, sentence, lines, section or words.section(cause, triton) or self.section)

    # --- running ---

    def run(self) -> dict[str, Any]:
        sizes, counted = self.exercise.all_sizes(Random(self.seed)), self.counted_sizes()
        if self.job["mode"] == "run":
            counted = counted[:1]
            small = next((size for size in sizes if max(size) >= 32), sizes[-1])
            checker = Child("check", self.folder, lambda: self.count_once(small))
        else:
            checker = Child("check", self.folder, self.do_check)
        profiler = Child("profile", self.folder, lambda: self.do_count(counted))
        checked = checker.wait()
        if "endless" in checked or checked.get("killed"):
            profiler.kill()
        profile = profiler.wait()
        self.printed = checker.printed()
        if self.job["mode"] == "run":
            return self.ran(checked, profile, checker, small)
        return self.judged(checked, profile, checker)

    def do_check(self) -> dict[str, Any]:
        from warpjudge import runs

        return runs.check(self.exercise, self.compiled, self.seed)

    def do_count(self, sizes: list[Size]) -> dict[str, Any]:
        from warpjudge import runs

        return {"runs": [runs.count(self.exercise, self.compiled, self.seed + 1, one) for one in sizes]}

    def ran(self, checked: dict[str, Any], profile: dict[str, Any], checker: Child, size: Size) -> dict[str, Any]:
        """What a run showed: outputs and findings at a small size, counters at the budget's."""
        if error := checked.get("error") or profile.get("error"):
            raise ExerciseError(error)
        messages = self.findings(checker.records(), list(size))
        deadlock = [one for one in messages if one["cause"] in DEADLOCKS]
        if (checked.get("endless") or checked.get("killed")) and not deadlock:
            messages.insert(0, self.endless(list(size)))
        elif checked.get("broken") and not messages:
            messages = [self.say("wrong", "fault", {"what": checked.get("fault", "?")}, size=list(size))]
        launches, rows = self.launches()
        found: dict[str, Any] = {"inputs": 1, "outputs": checked.get("outputs", []), "lines": rows}
        runs = profile.get("runs", [])
        if launches and runs and not runs[0].get("broken"):
            found["counters"] = rounded(self.counters(launches, runs[0]))
            found["budget"] = self.exercise.budget.limits() if self.exercise.budget else {}
        verdict = min((one["kind"] for one in messages), key=ORDER.index, default="right")
        messages = messages[:MOST_MESSAGES] or [self.say("right", "run", {})]
        return found | {"verdict": verdict, "messages": messages}

    def count_once(self, size: Size) -> dict[str, Any]:
        from warpjudge import runs

        return runs.count(self.exercise, self.compiled, self.seed, size)

    # --- what was found ---

    def judged(self, checked: dict[str, Any], profile: dict[str, Any], checker: Child) -> dict[str, Any]:
        found: dict[str, Any] = {"inputs": checked.get("inputs", 0)}
        if error := checked.get("error") or profile.get("error"):
            raise ExerciseError(error)
        launches, rows = self.launches()
        messages = []
        size = self.last_size(checked)
        findings = self.findings(checker.records(checked.get("marks")), size)
        deadlock = [one for one in findings if one["cause"] in DEADLOCKS]
        if ("endless" in checked or checked.get("killed")) and not deadlock:
            messages.append(self.endless(checked.get("endless", [])))
        if "endless" in checked:  # a barrier that waits for ever
            findings.sort(key=lambda one: one["cause"] not in DEADLOCKS)
        causes = self.cause_messages(checked.get("causes", []), rows)
        if not checked.get("causes"):
            for one in profile.get("runs", []):
                causes += self.cause_messages(one.get("causes", []), rows)[: 1 - len(causes)]
        if "fault" in checked and not findings:
            what = checked["fault"]["text"]
            findings.append(self.say("wrong", "fault", {"what": " ".join(what.split())[:300]}, size=size))
        messages += ordered(findings, causes)
        limits_ = self.exercise.budget.limits() if self.exercise.budget else {}
        runs = profile.get("runs", [])
        if launches and runs and not runs[0].get("broken"):
            numbers = self.counters(launches, runs[0])
            found |= {"counters": rounded(numbers), "budget": limits_, "lines": rows}
            if not messages and self.exercise.budget:
                messages += self.slow(counters.over(self.exercise.budget, numbers, rows, launches[0].raw["operations"]))
                if not messages and len(runs) > 1 and len(launches) > 1:
                    second = self.counters(launches[1:], runs[1])
                    over = counters.over(
                        self.exercise.budget,
                        second,
                        self.rows(launches[1]),
                        launches[1].raw["operations"],
                        counters.SLACK,
                        counters.RATIOS,
                    )
                    messages += self.slow(over)
        elif not messages:
            raise ExerciseError("the kernel could not be counted: " + str(profile)[:200])
        messages = messages[:MOST_MESSAGES]
        verdict = min((one["kind"] for one in messages), key=ORDER.index, default="right")
        if not messages:
            counted = words.counters(found["counters"], limits_, self.language)
            messages = [self.say("right", "right", {"inputs": found["inputs"], "counters": counted})]
        return found | {"verdict": verdict, "messages": messages}

    def last_size(self, checked: dict[str, Any]) -> list[int]:
        if "fault" in checked:
            return list(checked["fault"]["size"])
        return []

    def slow(self, exceeded: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            self.say("slow", one["cause"], one["values"] | {"line": one["line"]}, [one["line"]] if one["line"] else [])
            for one in exceeded
        ]

    def cause_messages(self, causes: list[dict[str, Any]], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        from warpjudge.diagnose import PAIRS

        out = []
        stores = self.compiled.lines_that("st.global") + [
            line for kind in ("red.global", "atom.global", "red.", "atom.") for line in self.compiled.lines_that(kind)
        ]
        loads = self.compiled.lines_that("ld.global")
        reads = [*self.compiled.lines_that("ld.shared"), *loads]
        for one in causes:
            values = one["values"]
            lines = loads if one["cause"] in AT_LOADS and loads else stores
            if one["cause"] in PAIRS and reads:
                lines = reads
            lines = list(dict.fromkeys(lines))
            if one["cause"] == "not-written" and not stores:
                lines = []
            out.append(self.say("wrong", one["cause"], values, lines[:3], one["size"], one["text"], one["section"]))
        return out

    def endless(self, size: list[int]) -> dict[str, Any]:
        """At which line it was, from a short profile of the same size."""
        at: Size = tuple(size) or self.exercise.all_sizes(Random(self.seed))[0]
        again = Child("hot", self.folder, lambda: self.count_once(at), inspect="profile", timeout="0.3")
        again.wait(5)
        _profile = soft.part("_profile")
        launches, _ = _profile.read(again.records())
        rows = self.rows(launches[0]) if launches else []
        worst = counters.most(rows, "instructions")
        lines = [row["line"] for row in sorted(rows, key=lambda row: -row["instructions"])[:3]]
        values = {"seconds": 2, "line": worst["line"] or "?"}
        return self.say("endless", "does-not-end", values, lines, size)

    def launches(self) -> tuple[list[Any], list[dict[str, Any]]]:
        _profile = soft.part("_profile")
        launches, _ = _profile.read(soft.records_in(self.folder / "profile"))
        return launches, self.rows(launches[0]) if launches else []

    def rows(self, launch: Any) -> list[dict[str, Any]]:
        return counters.rows(launch.lines(), launch.raw["operations"], self.compiled.name)

    def counters(self, launches: list[Any], one: dict[str, Any]) -> dict[str, float]:
        return counters.of(launches[0].metrics, launches[0].raw["operations"], one.get("warps", 1))

    def findings(self, records: list[Any], size: list[int]) -> list[dict[str, Any]]:
        """What softcuda's checker found, each cause at most twice."""
        _check = soft.part("_check")
        out: list[dict[str, Any]] = []
        for one in _check.read(records):
            if one["kind"] in ("leak", "interrupted", "timeout") or one.get("library"):
                continue
            if "still ran after" in one.get("message", ""):
                continue
            places = [one[who] for who in ("first", "second") if who in one]
            lines = [who["line"] for who in places if who["file"].endswith(self.compiled.name)]
            cause, values = explain(one, self.exercise.is_triton)
            said = self.say("wrong", cause, values, list(dict.fromkeys(lines)), one.get("size") or size)
            if sum(other["cause"] == cause for other in out) < 2:
                out.append(said)
        return out


def explain(finding: dict[str, Any], triton: bool = False) -> tuple[str, dict[str, Any]]:
    """The cause of a finding of softcuda's checker, and the values for its sentence.

    The cause is the kind, with what it was if there are words for that: "race-blocks", "race".  If the words name what
    the finding lacks, or there are none, softcuda's own sentence is quoted.
    """
    message = finding.get("message", "")  # of a launch that failed
    values: dict[str, Any] = {"space": finding.get("space", "global")}
    for key, line in (("first", "line"), ("second", "other_line")):
        if who := finding.get(key):
            values |= {key: person(who, finding), line: who["line"], f"does_{key}": acts(who)}
            values[f"{key}_program"] = short(list(who["block"]))
    if fault := soft.part("_check").FAULT.match(message):
        values["detail"] = fault["what"]
    kind = finding["kind"]
    for cause in (f"{kind} {finding.get('what', '')}".lower().replace(" ", "-"), kind):
        names = words.names(cause, triton)
        if names and names <= {*values, "size"}:
            return cause, values
    values["what"] = " ".join((message or finding.get("text", "")).split())[:300]
    return "fault" if message else "finding", values


def person(who: dict[str, Any], finding: dict[str, Any]) -> dict[str, Any]:
    """A thread, and its block where there are several."""
    several = finding.get("grid", [1]) != [1, 1, 1]
    return {"thread": short(list(who["thread"])), "block": short(list(who["block"])) if several else ""}


def short(numbers: list[int]) -> str:
    """2, or (2, 1): without the zeros behind."""
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers = numbers[:-1]
    return str(numbers[0]) if len(numbers) == 1 else "(" + ", ".join(map(str, numbers)) + ")"


def acts(who: dict[str, Any]) -> str:
    return ACTS.get(who.get("does", ""), "read")


def rounded(numbers: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in numbers.items()}


def ordered(findings: list[dict[str, Any]], causes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A fault or race explains a wrong result and comes before it; findings at one line are said once."""
    from warpjudge.diagnose import EXPLAINED

    races = [set(one["lines"]) for one in findings if one["cause"] == "race"]
    findings = [one for one in findings if one["cause"] != "warp-synchronous" or set(one["lines"]) not in races]
    if findings:
        causes = [one for one in causes if one["cause"] not in EXPLAINED]
    first = [one for one in causes if one["cause"] in WRONG_FIRST]
    rest = [one for one in causes if one["cause"] not in WRONG_FIRST]
    return [*findings, *first, *rest]


def plain(value: Any) -> Any:
    """For JSON: what an exercise's own causes may hold beside Python's numbers, a NumPy scalar or array."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a cause holds {value!r}, which is neither a number, a text nor a list")


class Child:
    """A forked process under one of softcuda's inspections, with its records in a folder of its own."""

    def __init__(self, name: str, folder: Path, work: Any, inspect: str = "", timeout: str = "2") -> None:
        self.folder, self.result = folder / name, folder / f"{name}.json"
        self.folder.mkdir(exist_ok=True)
        self.killed = False
        sys.stdout.flush()
        self.process = os.fork()
        if self.process:
            return
        try:
            os.environ["SOFTCUDA_INSPECT"] = f"{inspect or name}:{self.folder}"
            os.environ["SOFTCUDA_TIMEOUT"] = timeout
            limits.limit_this_process()
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(os.open(self.result.with_suffix(".txt"), os.O_WRONLY | os.O_CREAT, 0o600), 1)
            try:
                text = json.dumps(work(), default=plain)
            except ExerciseError as error:
                text = json.dumps({"error": str(error)})
            except Exception as error:
                text = json.dumps({"error": f"{type(error).__name__}: {error}"})
            self.result.write_text(text, "utf-8")
        finally:
            os._exit(0)

    def wait(self, seconds: float = CHILD_SECONDS) -> dict[str, Any]:
        """What it found; {"killed": True} if it had to be stopped."""
        end, pause = time.monotonic() + seconds, 0.002
        while os.waitpid(self.process, os.WNOHANG) == (0, 0):
            if time.monotonic() > end and not self.killed:
                self.kill()
            time.sleep(pause)
            pause = min(0.02, pause * 1.2)
        self.process = 0
        if self.killed or not self.result.exists():
            return {"killed": True}
        return dict(json.loads(self.result.read_text("utf-8")))

    def kill(self) -> None:
        self.killed = True
        if self.process:
            os.kill(self.process, signal.SIGKILL)

    def printed(self) -> str:
        """The beginning of what the kernel printed."""
        try:
            with open(self.result.with_suffix(".txt"), "rb") as file:
                return file.read(PRINTED).decode("utf-8", "replace")
        except OSError:
            return ""

    def records(self, marks: list[Any] | None = None) -> list[Any]:
        return soft.records_in(self.folder, marks)


if __name__ == "__main__":
    sys.exit(main())
