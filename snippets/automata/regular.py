"""From expressions to minimal automata, held against Python's re on all 8,191 strings of at most 12 letters.

python regular.py   on the CPU and, with strings.cu, on the device
"""

import re

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _dfa import CONTAINS_01, DFA, ODD_ONES, compiled, diagram, divisible, minimal, monoid, subsets
from _regex import NFA, thompson

LONGEST = 12
EXPRESSIONS = (
    "(0|1)*01(0|1)*", "(01|1)*(0|)", "1*(011*)*(0|)", "1*(011*)(0|)", "0*1(0*10*1)*0*", "(0|1)*1(0|1)(0|1)",
    "(1(01*0)*1|0)*", "(00|11|(01|10)(00|11)*(01|10))*", "((0|11)+1?)*0", "(0?1)+|",
)  # fmt: skip


# --8<-- [start:strings]
def strings(longest: int = LONGEST) -> list[str]:
    """All strings over {0, 1} in the order of strings.cu: the binary numbers from 1 on, each without its first 1."""
    return [f"{i:b}"[1:] for i in range(1, 2 << longest)]


# --8<-- [end:strings]


# --8<-- [start:device]
def on_device(kernel: cuda.Function, dfa: DFA, count: int) -> np.ndarray:
    """For each string whether the automaton accepts it; 7 is what nobody has written."""
    out = np.full(count, 7, np.uint8)
    step = np.array(dfa.step, np.uint8)
    accepting = np.array([q in dfa.accepting for q in range(len(dfa.step))], np.uint8)
    kernel(
        cuda.In(step),
        cuda.In(accepting),
        cuda.InOut(out),
        np.int32(count),
        block=(128, 1, 1),
        grid=(-(-count // 128), 1),
    )
    return out


# --8<-- [end:device]


# --8<-- [start:blowup]
def from_last(k: int) -> NFA:
    """k + 1 states: stay in 0, or guess that this 1 is the k-th letter from the end, and count the rest."""
    moves = [[("0", 0), ("1", 0), ("1", 1)]] + [[("0", q + 1), ("1", q + 1)] for q in range(1, k)] + [[]]
    return NFA(moves, start=0, end=k)


# --8<-- [end:blowup]


def main() -> None:
    kernel = wb.module("automata/strings.cu").get_function("accepts")
    words = strings()
    print(f"{'expression':34}{'ε-NFA':>7}{'subsets':>9}{'minimal':>9}{'functions':>11}{'accepted':>10}")
    for text in EXPRESSIONS:
        nfa = thompson(text)
        dfa = subsets(nfa)
        least = minimal(dfa)
        want = np.array([re.fullmatch(text, word) is not None for word in words], np.uint8)
        for what, automaton in (("subsets", dfa), ("minimal", least)):
            wb.check(np.array([automaton.accepts(word) for word in words], np.uint8), want, what=f"{text}, {what}")
            wb.check(on_device(kernel, automaton, len(words)), want, what=f"{text}, {what}, on the device")
        sizes = len(nfa.moves), len(dfa.step), len(least.step), len(monoid(least)), int(want.sum())
        print(f"{text:34}{sizes[0]:7}{sizes[1]:9}{sizes[2]:9}{sizes[3]:11}{sizes[4]:10,}")
    print(f"each: {len(words):,} strings, on the CPU and on the device, as Python's re says")

    print("\nthe k-th letter from the end is 1:  k, states of the NFA, of the minimal DFA")
    for k in range(1, 11):
        least = minimal(subsets(from_last(k)))
        assert len(least.step) == 2**k
        print(f"{k:4}{k + 1:6}{len(least.step):6}")
    for name, dfa, size in (
        ("contains 01", CONTAINS_01, 5),
        ("odd ones", ODD_ONES, 2),
        ("7 divides", divisible(7), 21),
    ):
        assert len(monoid(dfa)) == size
        print(f"{name:12}{len(dfa.step):3} states, {len(monoid(dfa)):3} functions")

    third = from_last(3)
    wb.graph(
        "nfa.third",
        nodes=[(str(q), str(q), "start" * (q == 0) + "accept" * (q == 3)) for q in range(4)],
        edges=[(str(p), str(q), a) for p, moves in enumerate(third.moves) for a, q in moves],
    )
    least = minimal(subsets(third))
    last = {least.run(word): word for word in words if len(word) == 3}  # what each state remembers
    wb.graph("dfa.third", **diagram(least, [last[q] for q in range(len(least.step))]))
    wb.graph("dfa.gaps_subsets", **diagram(subsets(thompson("(01|1)*(0|)"))))
    wb.graph("dfa.gaps", **diagram(compiled("(01|1)*(0|)")))
    wb.graph("dfa.contains", **diagram(CONTAINS_01))
    wb.graph("dfa.seven", **diagram(divisible(7)))


if __name__ == "__main__":
    main()
