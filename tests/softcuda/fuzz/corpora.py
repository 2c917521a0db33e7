"""The corpus of each fuzz target: one archive of inputs, named by the SHA-1 of their contents, as libFuzzer does."""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import tarfile
from pathlib import Path

TARGETS = ("load", "launch", "driver", "link")
CORPORA = Path(__file__).with_name("corpus")


def archive(target: str, corpora: Path = CORPORA) -> Path:
    return corpora / f"{target}.tar.xz"


def read(target: str, corpora: Path = CORPORA) -> dict[str, bytes]:
    """The inputs by name; none where there is no archive yet."""
    path = archive(target, corpora)
    if not path.exists():
        return {}
    with tarfile.open(path) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


def unpack(target: str, folder: Path, corpora: Path = CORPORA) -> list[Path]:
    """Write the inputs into a folder, beside what is there; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in read(target, corpora).items():
        paths.append(folder / Path(name).name)
        paths[-1].write_bytes(content)
    return paths


def pack(target: str, folder: Path, corpora: Path = CORPORA) -> tuple[int, int]:
    """Make the archive of a folder's files; how many inputs are new in it and how many are gone.

    The same inputs make the same bytes, whatever their names, times and owners; an archive that has them already stays.
    """
    contents = [path.read_bytes() for path in folder.iterdir() if path.is_file()]
    inputs = {hashlib.sha1(content).hexdigest(): content for content in contents}
    before = read(target, corpora)
    if inputs != before:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, content in sorted(inputs.items()):
                entry = tarfile.TarInfo(name)  # its time and owner are zero
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        path = archive(target, corpora)
        new = path.with_suffix(".new")
        new.write_bytes(lzma.compress(packed.getvalue(), preset=9))
        os.replace(new, path)
    return len(inputs.keys() - before.keys()), len(before.keys() - inputs.keys())
