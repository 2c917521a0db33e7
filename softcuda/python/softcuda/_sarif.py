"""Findings for other tools: a SARIF 2.1.0 file (`softcuda check --sarif FILE`), and annotations of a pull request.

SARIF is what editors and GitHub's code scanning read (https://docs.oasis-open.org/sarif/sarif/v2.1.0/).  The other form
is a line for each finding that GitHub Actions takes as a command (`--github`).  Both name files of the project.
"""

from __future__ import annotations

import hashlib
import re
import signal
from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from softcuda import __version__
from softcuda._locate import Place, Project

Finding = dict[str, Any]
Json = dict[str, Any]
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
VERBS = {"read": "reads", "write": "writes", "atomic operation": "updates atomically"}
FINGERPRINT = "softcudaFinding/v1"
RULES = {  # id: what it is, and what to do
    "race": (
        "Race in shared or global memory",
        "Two threads touch the same bytes, at least one of them writes, and no barrier, fence with atomic operation, or"
        " launch orders the two.",
        "Put __syncthreads() between the two accesses, where every thread of the block reaches it. Between blocks, use"
        " atomics, or leave the second step to another launch.",
    ),
    "warp-synchronous": (
        "Lanes of a warp taken to run in step",
        "Two lanes of one warp touch the same bytes, at least one of them writes, and no __syncwarp() stands between.",
        "Put __syncwarp() between the two accesses, or use a shuffle. Since Volta the lanes of a warp need not run in"
        " step, and volatile does not change that.",
    ),
    "async-copy": (
        "Asynchronous copy not waited for",
        "A thread reads what an asynchronous copy brings before the copy was waited for, writes what a bulk copy has"
        " not read yet, two bulk copies write to one place, or a thread ends while its bulk copy reads shared memory.",
        "Wait for the copy (__pipeline_wait_prior, cg::wait; of bulk copies mbarrier.try_wait or"
        " cp.async.bulk.wait_group), then call __syncthreads().",
    ),
    "proxy": (
        "No fence.proxy.async between threads and a bulk copy",
        "A thread writes or reads shared memory that a bulk or tensor copy then reads or overwrites. A barrier orders"
        " threads, but not the copy engine.",
        "Put fence.proxy.async.shared::cta (cuda::ptx::fence_proxy_async) behind the access, before the barrier.",
    ),
    "mbarrier": (
        "Mbarrier whose phase cannot end",
        "All warps of a block wait, some of them at an mbarrier that gets fewer arrivals than mbarrier.init names, or"
        " other bytes than expect_tx says.",
        "Compare the arrivals and bytes that a phase waits for with what arrives, and the parity with the phase.",
    ),
    "mbarrier-init": (
        "Mbarrier that the copy engine need not see",
        "A thread initialises an mbarrier, and a bulk or tensor copy that reports to it begins with no fence between. A"
        " barrier orders threads, but not the copy engine.",
        "Put fence.mbarrier_init.release.cluster (cuda::ptx::fence_mbarrier_init) or fence.proxy.async behind"
        " mbarrier.init, before the barrier.",
    ),
    "proxy-fence": (
        "No fence.proxy.async before a wgmma",
        "A wgmma.mma_async reads shared memory that threads have written. It reads through the asynchronous proxy,"
        " which a barrier does not order.",
        "Put fence.proxy.async.shared::cta (cuda::ptx::fence_proxy_async) behind the writes, before the barrier.",
    ),
    "wgmma-operand": (
        "Shared memory written under a wgmma that reads it",
        "A wgmma.mma_async may read its operands until wgmma.wait_group has returned in each of the four warps, and a"
        " thread writes to them before.",
        "Wait (wgmma.wait_group), let the block meet, then write.",
    ),
    "wgmma-register": (
        "Register of a wgmma that is under way",
        "Until wgmma.wait_group a wgmma.mma_async owns its sums, and A if that is in registers. An instruction uses"
        " them before.",
        "Wait (wgmma.wait_group) before the first use of these registers.",
    ),
    "wgmma-fence": (
        "No wgmma.fence before a wgmma",
        "An instruction writes to the sums of a wgmma.mma_async, or to A in registers, and no wgmma.fence stands"
        " between; or a warp's first wgmma.mma_async has none before it.",
        "Put wgmma.fence behind the last write; an empty asm volatile with the sums as operands keeps the compiler from"
        " moving arithmetic behind it.",
    ),
    "uninitialised": (
        "Read of uninitialised memory",
        "A kernel reads device memory that was allocated and never written, or shared memory that its block has not"
        " written.",
        "Copy or fill the memory first (gpuarray.zeros, memset_d32), or write the element before the read.",
    ),
    "out-of-bounds": (
        "Access out of bounds",
        "A thread reads or writes outside of every allocation, so the launch fails with an illegal address.",
        "Guard the access, e.g. if (i < n), and check the size of the allocation against grid and block.",
    ),
    "misaligned": (
        "Misaligned access",
        "An access of n bytes uses an address that is no multiple of n, so the launch fails.",
        "Check the offset and the cast.",
    ),
    "barrier": (
        "Barrier that not every thread reaches",
        "Threads of a block end without reaching a barrier at which others wait, or wait at different barriers.",
        "Move the barrier out of the condition, and return early only after it.",
    ),
    "inactive-lane": (
        "Warp operation with a lane that takes no part",
        "A shuffle reads from a lane that does not take part, or a mask names a lane that has ended.",
        "Name exactly the lanes that take part in the mask, and read only from those.",
    ),
    "leak": (
        "Device memory never freed",
        "Memory was still allocated when its context or the program ended.",
        "Free it (DeviceAllocation.free()), or drop the last reference before the context ends.",
    ),
    "assertion": (
        "Assertion failed",
        "An assert() in a kernel failed, so the launch ended with an error.",
        "See which condition failed, and for which thread.",
    ),
    "trap": (
        "Trap",
        "A kernel executed a trap, so the launch ended with an error.",
        "See why the kernel reached it: __trap() in the source, or code that cannot be reached.",
    ),
    "illegal-instruction": (
        "Illegal instruction",
        "An instruction was used in a way that the hardware refuses, so the launch ended with an error.",
        "See the operands that the message names.",
    ),
    "invalid-call": (
        "Call of what is no function",
        "A kernel called through a pointer that points to no function, so the launch ended with an error.",
        "Check where the function pointer comes from.",
    ),
    "invalid-free": (
        "Invalid free in a kernel",
        "A kernel freed what malloc() had not given, or freed it twice.",
        "Free each pointer from malloc() once.",
    ),
    "stack-overflow": (
        "Stack overflow",
        "A thread needed more stack than it has, so the launch ended with an error.",
        "Recurse less deeply, or raise the limit (cuCtxSetLimit with CU_LIMIT_STACK_SIZE).",
    ),
    "timeout": (
        "Launch took longer than SOFTCUDA_TIMEOUT",
        "The launch did not end in the time that the setting allows.",
        "Look for a loop that does not end, or allow more time.",
    ),
    "failure": (
        "Launch failed",
        "The launch ended with an error.",
        "See the message.",
    ),
}  # fmt: skip


@dataclass
class Located:
    """A finding, and where in the project its threads were; `place` is one of these, or a file without a line."""

    finding: Finding
    place: Place
    first: Place | None = None
    second: Place | None = None

    @property
    def accesses(self) -> list[tuple[Finding, Place]]:
        """What the threads did, where that is known."""
        both = (("first", self.first), ("second", self.second))
        return [(self.finding[who], place) for who, place in both if place]


@dataclass
class Ending:
    """How the check ended: `notice`, one line, where the findings may not be all; `signal` that ended the program."""

    status: int
    partial: bool = False
    notice: str = ""
    signal: int = 0


def level_of(finding: Finding, *, strict: bool) -> str:
    """What counts is an error; a finding in a library's kernel counts with --strict."""
    return "warning" if finding["library"] and not strict else "error"


def uri_of(project: Project, place: Place) -> str:
    return quote(project.relative(place.file))


def name_project_lines(located: Located, project: Project) -> str:
    """The finding's sentence, with the project's files in place of the compiler's."""
    text = located.finding["text"]
    for access, place in located.accesses:
        named = re.escape(f"{access['file']}:{access['line']}")
        here = f"{project.relative(place.file)}:{place.line}"
        text = re.sub(rf"(?<![\w./]){named}(?!\d)", lambda _, here=here: here, text)
    return text


def paragraphs_of(located: Located, project: Project) -> list[str]:
    """What happened, where, and what to do, without the line breaks that suit a terminal."""
    finding = located.finding
    parts = [name_project_lines(located, project), finding["where"], "Hint: " * bool(finding["hint"]) + finding["hint"]]
    return [" ".join(part.split()) for part in parts if part]


# --- SARIF ------------------------------------------------------------------------------------------------------------


def describe_rule(name: str, findings: list[Located]) -> Json:
    """What there is to say of a kind of finding; one that RULES lacks is described by its first finding."""
    short, full, action = RULES.get(name) or next(
        (one.finding["title"].capitalize(), f"{one.finding['title'].capitalize()}.", one.finding["hint"])
        for one in findings
        if one.finding["kind"] == name
    )
    return {
        "id": name,
        "name": "".join(word.capitalize() for word in name.split("-")),
        "shortDescription": {"text": short},
        "fullDescription": {"text": full},
        "help": {"text": f"{full} {action}".strip(), "markdown": f"{full}\n\n{action}".strip()},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["cuda", "correctness"], "problem.severity": "error", "precision": "high"},
    }


def describe_location(project: Project, place: Place, source: str = "") -> Json:
    physical: Json = {"artifactLocation": {"uri": uri_of(project, place)}}
    if place.file.is_relative_to(project.root):
        physical["artifactLocation"]["uriBaseId"] = ROOT
    else:
        physical["artifactLocation"]["uri"] = (
            place.file.as_uri() if place.file.is_absolute() else uri_of(project, place)
        )
    if place.line:
        physical["region"] = {"startLine": place.line} | ({"snippet": {"text": source}} if source else {})
    return {"physicalLocation": physical}


def fingerprint_of(located: Located, project: Project) -> str:
    """The same for the same defect after lines were moved: no line numbers, threads or addresses are in it."""
    finding = located.finding
    parts = [finding["kind"], finding.get("kernel", ""), finding.get("space", ""), project.relative(located.place.file)]
    parts += ["".join(finding.get(who, {}).get("source", "").split()) for who in ("first", "second")]
    if finding["kind"] == "leak":
        parts.append(finding["allocation"]["from"])
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def describe_result(located: Located, project: Project, *, rules: list[str], strict: bool, count: Counter[str]) -> Json:
    finding = located.finding
    own = fingerprint_of(located, project)
    count[own] += 1
    source = next((access.get("source", "") for access, place in located.accesses if place == located.place), "")
    where = describe_location(project, located.place, source)
    if finding.get("kernel"):
        kernel = {"name": finding["name"], "fullyQualifiedName": finding["name"], "kind": "function"}
        where["logicalLocations"] = [kernel | {"decoratedName": finding["kernel"]}]
    related: list[Json] = []
    for access, place in located.accesses if "second" in finding else []:
        text = f"thread {format_index(access['thread'])} of block {format_index(access['block'])}"
        text += f" {VERBS.get(access['does'], access['does'])} ({access['instruction']})"
        here = describe_location(project, place, access.get("source", ""))
        related.append({"id": len(related) + 1, **here, "message": {"text": text}})
    return {
        "ruleId": finding["kind"],
        "ruleIndex": rules.index(finding["kind"]),
        "level": level_of(finding, strict=strict),
        "message": {"text": "\n".join(paragraphs_of(located, project))},
        "locations": [where],
        **({"relatedLocations": related} if related else {}),
        "partialFingerprints": {FINGERPRINT: f"{own}:{count[own]}"},
        "properties": {"title": finding["title"]}
        | ({"kernel": finding["kernel"]} if finding.get("kernel") else {})
        | ({"library": finding["library"]} if finding["library"] else {}),
    }


def format_index(index: list[int]) -> str:
    return "(" + ",".join(map(str, index)) + ")"


def describe_run(findings: list[Located], project: Project, ending: Ending, *, strict: bool) -> Json:
    """The SARIF log of one run."""
    rules = list(dict.fromkeys([*RULES, *(located.finding["kind"] for located in findings)]))
    count: Counter[str] = Counter()
    invocation: Json = {"executionSuccessful": not ending.partial}
    if not ending.signal:
        invocation |= {"exitCode": ending.status}
    else:
        invocation |= {"exitSignalNumber": ending.signal, "exitSignalName": signal.Signals(ending.signal).name}
    if ending.notice:
        note = {"level": "error" if ending.partial else "warning", "message": {"text": ending.notice}}
        invocation["toolExecutionNotifications"] = [note]
    driver = {
        "name": "softcuda check",
        "version": __version__,
        "semanticVersion": __version__,
        "shortDescription": {"text": "Finds races, uninitialised reads and other defects of CUDA kernels in a run."},
        "rules": [describe_rule(name, findings) for name in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the checkout."}}},
        "invocations": [invocation],
        "results": [describe_result(one, project, rules=rules, strict=strict, count=count) for one in findings],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


# --- GitHub Actions ---------------------------------------------------------------------------------------------------


def escape(text: str, more: str = "") -> str:
    return "".join(f"%{ord(letter):02X}" if letter in f"%\r\n{more}" else letter for letter in text)


def format_annotation(kind: str, title: str, text: str, file: str = "", line: int = 0) -> str:
    """A workflow command that GitHub shows beside the line, https://docs.github.com/actions (workflow commands)."""
    about = {"file": file, "line": str(line or ""), "title": title}
    words = ",".join(f"{key}={escape(value, ':,')}" for key, value in about.items() if value)
    return f"::{kind} {words}::{escape(text)}"


def format_annotations(findings: list[Located], project: Project, ending: Ending, *, strict: bool) -> list[str]:
    lines = []
    for located in findings:
        finding, place = located.finding, located.place
        kernel = f" in kernel {finding['name']}" if "name" in finding else ""
        inside = place.file.is_relative_to(project.root)
        lines.append(
            format_annotation(
                level_of(finding, strict=strict),
                f"softcuda check: {finding['title']}{kernel}",
                "\n".join(paragraphs_of(located, project)),
                project.relative(place.file) if inside else "",
                place.line if inside else 0,
            )
        )
    if ending.notice:
        lines.append(format_annotation("error" if ending.partial else "warning", "softcuda check", ending.notice))
    return lines
