"""One core as the yardstick and the reference: walk.c, if the machine has a C compiler, and plain Python if not."""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from _dfa import DFA

SOURCE = Path(__file__).with_name("walk.c")
FLAGS = ["-O3", "-march=native", "-std=c99", "-shared", "-fPIC"]


def compiler() -> str | None:
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def library() -> ctypes.CDLL | None:
    """walk.c, compiled; None where there is no compiler."""
    if (cc := compiler()) is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "walk.so"
        subprocess.run([cc, *FLAGS, "-o", str(built), str(SOURCE)], check=True, timeout=60)
        loaded = ctypes.CDLL(str(built))
    for name in ("walk", "walk8"):
        getattr(loaded, name).restype = ctypes.c_uint64
    return loaded


def composed(dfa: DFA, symbols: int, bits: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """What every string of `symbols` letters of `bits` bits does: (to[index, q], count[index, q]).

    The first letter is in the lowest bits of the index.
    """
    step, accepting = np.array(dfa.step), np.array([q in dfa.accepting for q in range(len(dfa.step))], np.int64)
    index = np.arange(1 << symbols * bits)
    to = np.tile(np.arange(len(step)), (index.size, 1))
    count = np.zeros_like(to)
    for k in range(symbols):
        letter = index >> bits * k & (1 << bits) - 1
        to = step[to, letter[:, None]]
        count += accepting[to]
    return to, count


class Walker:
    """One automaton of two letters on one core."""

    built = library()

    def __init__(self, dfa: DFA) -> None:
        self.dfa = dfa
        self.next = np.array([2 * q for row in dfa.step for q in row], np.uint8)
        self.accepting = np.zeros(256, np.uint8)
        self.accepting[[2 * q for q in dfa.accepting]] = 1
        to, count = composed(dfa, 8)
        self.next8 = np.ascontiguousarray((count << 16 | to << 8).T.astype(np.uint32))

    def walk(self, text: np.ndarray) -> tuple[int, int]:
        """Last state, and how many prefixes were accepted: a lookup a symbol."""
        if self.built is None:
            state = count = 0
            for letter in (text & 1).tolist():
                state = self.dfa.step[state][letter]
                count += state in self.dfa.accepting
            return state, count
        state = ctypes.c_uint8(0)
        pointers = (ctypes.c_void_p(a.ctypes.data) for a in (self.next, self.accepting))
        count = self.built.walk(
            ctypes.c_void_p(text.ctypes.data), ctypes.c_int64(text.size), *pointers, ctypes.byref(state)
        )
        return state.value // 2, count

    def walk8(self, text: np.ndarray) -> tuple[int, int]:
        """The same, a lookup for 8 symbols; the text's length must be a multiple of 8."""
        state = ctypes.c_uint32(0)
        count = self.built.walk8(
            ctypes.c_void_p(text.ctypes.data),
            ctypes.c_int64(text.size),
            ctypes.c_void_p(self.next8.ctypes.data),
            ctypes.byref(state),
        )
        return state.value // 256, count
