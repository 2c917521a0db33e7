"""From a regular expression to an automaton with ε-moves: Thompson's construction, one small piece an operator."""

from dataclasses import dataclass, field


# --8<-- [start:nfa]
@dataclass
class NFA:
    """moves[q] lists (letter, next state); the letter "" is ε, a move that reads nothing."""

    moves: list[list[tuple[str, int]]] = field(default_factory=list)
    start: int = 0
    end: int = 0  # the one accepting state

    def state(self) -> int:
        self.moves.append([])
        return len(self.moves) - 1

    def closure(self, states: set[int]) -> frozenset[int]:
        """All states that `states` reach by ε-moves."""
        seen, todo = set(states), list(states)
        while todo:
            for letter, q in self.moves[todo.pop()]:
                if not letter and q not in seen:
                    seen.add(q), todo.append(q)
        return frozenset(seen)

    def after(self, states: frozenset[int], letter: str) -> frozenset[int]:
        """Where one letter leads from any of `states`."""
        return self.closure({q for p in states for a, q in self.moves[p] if a == letter})


# --8<-- [end:nfa]


# --8<-- [start:thompson]
def thompson(text: str) -> NFA:
    """The automaton of a regular expression of letters, |, *, +, ? and brackets; nothing at all stands for ε.

    Each method of the grammar returns the first and the last state of its piece.
    """
    nfa, at = NFA(), 0

    def move(p: int, letter: str, q: int) -> None:
        nfa.moves[p].append((letter, q))

    def union() -> tuple[int, int]:
        nonlocal at
        parts = [sequence()]
        while text[at : at + 1] == "|":
            at += 1
            parts.append(sequence())
        if len(parts) == 1:
            return parts[0]
        first, last = nfa.state(), nfa.state()
        for p, q in parts:
            move(first, "", p), move(q, "", last)
        return first, last

    def sequence() -> tuple[int, int]:
        first = last = nfa.state()
        while at < len(text) and text[at] not in "|)":
            p, q = repeated()
            move(last, "", p)
            last = q
        return first, last

    def repeated() -> tuple[int, int]:
        nonlocal at
        p, q = atom()
        while at < len(text) and text[at] in "*+?":
            first, last = nfa.state(), nfa.state()
            move(first, "", p), move(q, "", last)
            if text[at] in "*+":
                move(q, "", p)  # once more
            if text[at] in "*?":
                move(first, "", last)  # not at all
            p, q = first, last
            at += 1
        return p, q

    def atom() -> tuple[int, int]:
        nonlocal at
        letter = text[at]
        at += 1
        if letter == "(":
            piece = union()
            if text[at : at + 1] != ")":
                raise ValueError(f"{text!r}: the bracket is not closed")
            at += 1
            return piece
        if letter in "*+?":
            raise ValueError(f"{text!r}: nothing stands before {letter!r}")
        first, last = nfa.state(), nfa.state()
        move(first, letter, last)
        return first, last

    nfa.start, nfa.end = union()
    if at < len(text):
        raise ValueError(f"{text!r}: a bracket too many")
    return nfa


# --8<-- [end:thompson]
