"""Who cites whom in this book: the English pages, their links to each other, and the sources in their footnotes.

    python -m warpbook.references          write snippets/pagerank/references.csv anew
    python -m warpbook.references --check  say how far it is from what the pages say; status 1 if too far

The article on PageRank ranks this graph. Its programs run without the pages, so the graph lies beside them. Their
output is recorded on every device, so the file is not renewed with every footnote: it may lag behind by `MOST_DRIFT`.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path

from warpbook.book import Book, here, write_text
from warpbook.source.pages import Page

FILE = Path("pagerank") / "references.csv"
MOST_DRIFT = 0.1  # of the edges that the pages have now
REMEDY = "run .venv/bin/python -m warpbook.references, and make record ONLY=pagerank here and on the records' GPU"
FOOTNOTE = re.compile(r"^\[\^[^\]]+\]: (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\((https?://[^)\s]+)\)")
PAGE = re.compile(r"\]\((?!https?:)([\w./-]+\.md)(?:#[\w-]*)?\)")
PAPER = re.compile(r"^(?:[A-Z]\.[ -]?)+ ?((?:van |de |von )?[\w'’-]+).*?\b((?:19|20)\d\d)\b(?!\.\d)")
ARXIV = re.compile(r"(?:arxiv\.org/(?:abs|pdf|html)/|huggingface\.co/papers/|arXiv[: ])((\d\d)\d\d\.\d{4,5})")
NUMBERED = re.compile(r" \((\d{4}\.\d{4,5})\)$")  # a paper by its author; elsewhere it may be known by its number alone
# Documents that footnotes name in several ways: each is one source, whatever its edition and its section.
DOCUMENTS = (
    ("CUDA Programming Guide", r"CUDA (?:C\+\+ |C )?Programming Guide|/cuda-(?:c-)?programming-guide"),
    ("CUDA Best Practices Guide", r"Best Practices Guide|cuda-c-best-practices-guide|CUDA_C_Best_Practices_Guide"),
    ("Hopper Tuning Guide", r"hopper-tuning-guide"),
    ("Blackwell Tuning Guide", r"blackwell-tuning-guide"),
    ("Volta Tuning Guide", r"volta-tuning-guide"),
    ("PTX ISA", r"parallel-thread-execution|PTX ISA"),
    ("CUDA Driver API", r"cuda-driver-api"),
    ("Nsight Compute", r"Nsight Compute(?:'s)? (?:[Pp]rofiling|documentation|[Gg]uide)|nsight-compute/"),
    ("H200 data sheet", r"nvidia\.com/en-us/data-center/h200"),
    ("Hopper white paper", r"whitepaper-hopper"),
    ("CUTLASS", r"NVIDIA/cutlass"),
    ("CCCL", r"nvidia\.github\.io/cccl|NVIDIA CCCL|NVIDIA/cccl"),
    ("PyTorch", r"^PyTorch,|pytorch/pytorch|pytorch\.org"),
    ("CUDA headers", r"`cuda\.h`|`driver_types\.h`|`cuda_occupancy\.h`"),
    ("nvcc", r"^nvcc's manual|cuda-compiler-driver-nvcc"),
)  # fmt: skip


def short(address: str) -> str:
    """A link as a source's name: owner/repository on GitHub, otherwise the host and the last part of the path."""
    host, _, path = re.sub(r"^https?://(?:www\.)?", "", address).partition("/")
    parts = [part for part in re.sub(r"[?#].*", "", path).split("/") if part and part != "index.html"]
    if host in ("github.com", "gitlab.com"):
        return "/".join(parts[:2])
    if host == "forums.developer.nvidia.com":
        return f"NVIDIA forum {path.split('/')[2]}"
    return f"{host}/{re.sub(r'[.](html?|pdf)$', '', parts[-1])[:40]}" if parts else host


def sources(note: str, before: set[str]) -> set[str]:
    """What one footnote cites; `before` is what the footnote before it cites."""
    if note.startswith(("We ", "The same")):
        return before if note.startswith("The same") else set()
    paper, arxiv = PAPER.match(note.replace("[", "")), ARXIV.search(note)
    if paper and arxiv:  # the first author and the number, or the year, stand for a paper, wherever it was read
        return {f"{paper[1]} 20{arxiv[2]} ({arxiv[1]})"}
    if paper:
        return {f"{paper[1]} {paper[2]}"}
    if arxiv:
        return {f"arXiv {arxiv[1]}"}
    found = {name for name, pattern in DOCUMENTS if re.search(pattern, note)}
    known = re.compile("|".join(pattern for _, pattern in DOCUMENTS))
    return found | {short(link) for link in LINK.findall(note) if not known.search(link)}


def graph(book: Book) -> list[tuple[str, str, str]]:
    """(page, "links" or "cites", the page's or the source's name), sorted; pages go by their article's name."""
    edges: set[tuple[str, str, str]] = set()
    for path in book.pages("en"):
        text = "\n".join(line.text for line in Page(book, path).prose)
        before: set[str] = set()
        for note in FOOTNOTE.findall(text):
            before = sources(note, before)
            edges |= {(path.stem, "cites", source) for source in before}
        targets = {(path.parent / target).resolve() for target in PAGE.findall(FOOTNOTE.sub("", text))}
        edges |= {(path.stem, "links", target.stem) for target in targets if target.is_file() and target != path}
    numbered = {number[1]: target for _, _, target in edges if (number := NUMBERED.search(target))}
    return sorted({(page, how, numbered.get(target.removeprefix("arXiv "), target)) for page, how, target in edges})


def text(edges: list[tuple[str, str, str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("page", "how", "target"), *edges])
    return out.getvalue()


def drift(kept: str, now: list[tuple[str, str, str]]) -> float:
    """Edges that only one of the two has, as a share of the pages' edges."""
    rows = {(row["page"], row["how"], row["target"]) for row in csv.DictReader(io.StringIO(kept))}
    return len(rows ^ set(now)) / max(1, len(now))


def main(arguments: list[str]) -> int:
    book = here()
    file, now = book.snippets / FILE, graph(book)
    if "--check" not in arguments:
        write_text(file, text(now))
        return 0
    far = drift(file.read_text("utf-8"), now)
    print(f"{book.relative(file)}: {far:.0%} of the edges differ from the pages" + (f"; {REMEDY}" if far else ""))
    return 1 if far > MOST_DRIFT else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
