"""`Judge`: verdicts on answers, each found by a process of its own (worker.py) that can be stopped at any time."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from warpjudge import limits, words

PACKAGES = Path(__file__).resolve().parents[1]  # the folder that holds warpjudge
SECONDS = 60  # of a judgement: each of its steps has a shorter limit of its own


class Judge:
    """Judges answers to exercises, one at a time.

    keep_warm: after a verdict, a process for the next one is started, so that it comes sooner.  `cache`: a folder for
    compiled answers.  Use it in a `with`, or call `close`; two of them are independent of each other.
    """

    def __init__(self, *, keep_warm: bool = True, cache: Path | None = None, compile_seconds: float = 20) -> None:
        self.keep_warm, self.cache, self.compile_seconds = keep_warm, cache, compile_seconds
        self._spare: _Worker | None = None
        self._current: _Worker | None = None
        self._lock = threading.Lock()  # one job at a time
        self._state = threading.Lock()  # _current and _closed
        self._closed = False
        self._stops = 0

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(
        self,
        folder: Path | str,
        source: str,
        *,
        name: str = "",
        language: str = "en",
        seed: int | None = None,
        mode: str = "judge",
        section: str = "",
    ) -> dict[str, Any]:
        """The verdict on `source`, an answer to the exercise in `folder`; docs/developers/exercises.md lists its keys.

        `section`: what a message links to if its cause has no section.  `mode`: "judge", or "run" to run it once.
        """
        job = self._job(folder, name, language, seed, section) | {"source": source, "mode": mode}
        found: dict[str, Any] = self._ask(job, SECONDS) or _stopped(job)
        return found

    def all(
        self, folder: Path | str, sources: list[str], *, language: str = "en", seed: int | None = None
    ) -> list[dict[str, Any]]:
        """The verdicts on several answers to one exercise, found together with less work."""
        job = self._job(folder, "", language, seed, "") | {"sources": sources, "mode": "judge"}
        found = self._ask(job, SECONDS * (1 + len(sources)))
        return found if isinstance(found, list) else [found or _stopped(job)] * len(sources)

    def _job(self, folder: Path | str, name: str, language: str, seed: int | None, section: str) -> dict[str, Any]:
        folder = Path(folder).resolve()
        return {
            "folder": str(folder),
            "name": name or "/".join(folder.parts[-2:]),
            "language": language if language in words.LANGUAGES else "en",
            "seed": secrets.randbits(32) if seed is None else seed,
            "section": section,
            "compile_seconds": self.compile_seconds,
            "cache": str(self.cache) if self.cache else "",
        }

    def _ask(self, job: dict[str, Any], seconds: float) -> Any:
        """What a worker answers; None if it was stopped."""
        stops = self._stops
        with self._lock:
            with self._state:
                if self._closed or stops != self._stops:
                    return None
                worker = self._spare if self._spare and self._spare.is_ready() else None
                if worker is None and self._spare:
                    self._spare.end()
                self._spare = None
                worker = self._current = worker or _Worker()
            try:
                return worker.judge(job, seconds)
            finally:
                with self._state:
                    self._current = None
                worker.end()
                with self._state:
                    if self.keep_warm and not self._closed and self._spare is None:
                        self._spare = _Worker(warm=True)

    def warm_up(self) -> None:
        """Start the process for the first verdict already."""
        with self._state:
            if self._spare is None and not self._closed:
                self._spare = _Worker(warm=True)

    def stop(self) -> None:
        """End the judgement that is under way, from another thread; its verdict is then "stopped"."""
        with self._state:
            self._stops += 1
            if self._current:
                self._current.stop()

    def close(self) -> None:
        """End everything."""
        with self._state:
            self._closed = True
            if self._current:
                self._current.stop()
            if self._spare:
                self._spare.end()
                self._spare = None


def _stopped(job: dict[str, Any]) -> dict[str, Any]:
    return _without_verdict(job, "stopped", words.sentence("stopped", {}, job["language"]))


def _without_verdict(job: dict[str, Any], verdict: str, text: str) -> dict[str, Any]:
    line = {"kind": verdict, "cause": verdict, "line": 0, "lines": [], "text": text, "section": ""}
    return {
        "exercise": job["name"], "verdict": verdict, "seed": job["seed"], "seconds": 0.0, "inputs": 0,
        "messages": [line], "counters": {}, "budget": {}, "lines": [], "printed": "", "outputs": [],
    }  # fmt: skip


class _Worker:
    """One process with a folder of its own, good for one judgement."""

    def __init__(self, warm: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=limits.FOLDER))
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SOFTCUDA", "PYTHONSTARTUP", "PYCUDA", "NVCC_"))
        }
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(PACKAGES), *([environment["PYTHONPATH"]] if environment.get("PYTHONPATH") else [])]
        )
        environment |= {"TMPDIR": str(self.folder), "PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "ignore"}
        with open(self.folder / "errors", "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "warpjudge.worker", *(["--warm"] if warm else [])],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                text=True,
                encoding="utf-8",
            )
        self._stopped = False

    def is_ready(self) -> bool:
        return self.process.poll() is None

    def judge(self, job: dict[str, Any], seconds: float) -> Any:
        """None if it was stopped."""
        assert self.process.stdin and self.process.stdout
        start = time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if ready else ""
        if self._stopped:
            return None
        if not line:
            with open(self.folder / "errors", errors="replace") as file:
                last = (file.read(64 << 10).strip().splitlines() or [""])[-1]
            what = last or (f"no verdict within {seconds:.0f} s" if not ready else "its process ended")
            return _without_verdict(job, "failed", words.sentence("failed", {"what": what}, job["language"]))
        verdict = json.loads(line)
        if isinstance(verdict, dict):
            verdict["seconds"] = round(time.monotonic() - start, 3)
        return verdict

    def stop(self) -> None:
        self._stopped = True
        limits.kill_group(self.process)

    def end(self) -> None:
        limits.kill_group(self.process)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)
