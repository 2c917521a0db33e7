"""Deterministic automata: subset construction, minimisation, and the functions that strings are."""

from collections.abc import Callable
from dataclasses import dataclass

from _regex import NFA, thompson


# --8<-- [start:dfa]
@dataclass(frozen=True)
class DFA:
    """step[q][a] is the state after state q has read letter number a. The start is state 0."""

    alphabet: str
    step: tuple[tuple[int, ...], ...]
    accepting: frozenset[int]

    def run(self, string: str, state: int = 0) -> int:
        """δ̂(state, string)"""
        for letter in string:
            state = self.step[state][self.alphabet.index(letter)]
        return state

    def accepts(self, string: str) -> bool:
        return self.run(string) in self.accepting


# --8<-- [end:dfa]


# --8<-- [start:explore]
def explore(alphabet: str, start: object, after: Callable, accepting: Callable) -> DFA:
    """Number everything that can be reached from `start`, in order of discovery."""
    found, names, step = {start: 0}, [start], []
    for name in names:  # grows meanwhile
        row = [after(name, letter) for letter in alphabet]
        for target in row:
            if target not in found:
                found[target] = len(names)
                names.append(target)
        step.append(tuple(found[target] for target in row))
    return DFA(alphabet, tuple(step), frozenset(q for q, name in enumerate(names) if accepting(name)))


def subsets(nfa: NFA, alphabet: str = "01") -> DFA:
    """The subset construction: a state is the set of states that the NFA can be in."""
    return explore(alphabet, nfa.closure({nfa.start}), nfa.after, lambda states: nfa.end in states)


# --8<-- [end:explore]


# --8<-- [start:hopcroft]
def minimal(dfa: DFA) -> DFA:
    """Hopcroft: begin with two blocks, accepting and not; split a block while some letter tells its states apart."""
    states, letters = range(len(dfa.step)), range(len(dfa.alphabet))
    before = [[set() for _ in states] for _ in letters]  # before[a][q]: from where a leads to q
    for q in states:
        for a in letters:
            before[a][dfa.step[q][a]].add(q)
    blocks = [set(part) for part in (dfa.accepting, set(states) - dfa.accepting) if part]
    splitters = {(min(range(len(blocks)), key=lambda b: len(blocks[b])), a) for a in letters}
    while splitters:
        b, a = splitters.pop()
        into = set().union(*(before[a][q] for q in blocks[b]))  # from where a leads into block b
        for c in range(len(blocks)):
            inside, outside = blocks[c] & into, blocks[c] - into
            if inside and outside:
                blocks[c] = inside
                blocks.append(outside)
                new = len(blocks) - 1
                for letter in letters:  # of the two halves the smaller is enough, unless c still waits
                    smaller = c if len(inside) <= len(outside) else new
                    splitters.add((new if (c, letter) in splitters else smaller, letter))
    block_of = {q: b for b, block in enumerate(blocks) for q in block}
    one = [min(block) for block in blocks]  # each block's states behave alike: ask any of them
    return explore(
        dfa.alphabet,
        block_of[0],
        lambda b, letter: block_of[dfa.step[one[b]][dfa.alphabet.index(letter)]],
        lambda b: one[b] in dfa.accepting,
    )


# --8<-- [end:hopcroft]


def compiled(text: str, alphabet: str = "01") -> DFA:
    """The minimal automaton of a regular expression. Equal languages give equal automata."""
    return minimal(subsets(thompson(text), alphabet))


# --8<-- [start:examples]
def divisible(by: int) -> DFA:
    """Binary numbers, highest digit first, that `by` divides. The state is the remainder."""
    return explore("01", 0, lambda r, digit: (2 * r + int(digit)) % by, lambda r: r == 0)


CONTAINS_01 = compiled("(0|1)*01(0|1)*")
ODD_ONES = compiled("0*1(0*10*1)*0*")
# --8<-- [end:examples]


# --8<-- [start:monoid]
def monoid(dfa: DFA) -> dict[tuple[int, ...], str]:
    """Every function of the states that some string is, with the first, shortest string that is it."""
    found = {tuple(range(len(dfa.step))): ""}  # the empty string changes nothing
    todo = list(found)
    for f in todo:
        for a, letter in enumerate(dfa.alphabet):
            g = tuple(dfa.step[q][a] for q in f)  # first f, then the letter
            if g not in found:
                found[g] = found[f] + letter
                todo.append(g)
    return found


# --8<-- [end:monoid]


# --8<-- [start:pump]
def pump(dfa: DFA, word: str) -> tuple[str, str, str] | None:
    """Split an accepted word of at least |Q| letters at the first state that comes back; None for other words."""
    if len(word) < len(dfa.step) or not dfa.accepts(word):
        return None
    seen, state = {0: 0}, 0
    for i, letter in enumerate(word, 1):
        state = dfa.run(letter, state)
        if state in seen:
            return word[: seen[state]], word[seen[state] : i], word[i:]
        seen[state] = i
    raise AssertionError("|Q| letters visit |Q| + 1 states: one of them comes twice")


def pumps(split: tuple[str, str, str], language: Callable[[str], bool], most: int = 6) -> bool:
    """Whether x y^k z is in the language for k = 0, 1, … most."""
    x, y, z = split
    return all(language(x + y * k + z) for k in range(most + 1))


def any_pumps(word: str, length: int, language: Callable[[str], bool]) -> tuple[str, str, str] | None:
    """A split with |xy| <= length and y not empty that can be pumped, if there is one: all are tried."""
    for end in range(1, min(length, len(word)) + 1):
        for begin in range(end):
            split = word[:begin], word[begin:end], word[end:]
            if pumps(split, language):
                return split
    return None


# --8<-- [end:pump]


# --8<-- [start:diagram]
def diagram(dfa: DFA, labels: list[str] | None = None) -> dict[str, list]:
    """Nodes and edges for a state diagram, as warpbench.graph takes them."""
    nodes, edges = [], []
    for q, row in enumerate(dfa.step):
        kind = " ".join(["start"] * (q == 0) + ["accept"] * (q in dfa.accepting))
        nodes.append((str(q), labels[q] if labels else str(q), kind))
        edges += [(str(q), str(p), dfa.alphabet[a]) for a, p in enumerate(row)]
    return {"nodes": nodes, "edges": edges}


# --8<-- [end:diagram]
