"""A context-free grammar, and its Chomsky normal form."""

from dataclasses import dataclass
from itertools import product

# --8<-- [start:cnf]
Rules = dict[str, list[tuple[str, ...]]]  # a variable's bodies; what has no rules is a letter


@dataclass(frozen=True)
class CNF:
    """Only A → a and A → B C. Variables are numbers, 0 is the start; `empty` says whether ε is in the language."""

    names: tuple[str, ...]
    letters: tuple[tuple[int, str], ...]
    pairs: tuple[tuple[int, int, int], ...]
    empty: bool


def normal_form(rules: Rules, start: str = "S") -> CNF:
    """The five steps in the order that keeps the grammar small: START, TERM, BIN, DEL, UNIT."""
    new: Rules = {"S'": [(start,)]}  # START: nothing derives the start variable
    for variable, bodies in rules.items():
        new.setdefault(variable, [])
        for body in bodies:
            if len(body) > 1:  # TERM: letters stand alone
                body = tuple(x if x in rules else f"<{x}>" for x in body)
                new |= {x: [(x[1:-1],)] for x in body if x not in rules}
            head = variable
            while len(body) > 2:  # BIN: at most two variables
                rest = "·".join(body[1:])
                new[head].append((body[0], rest))
                if rest in new:
                    break
                new[rest] = []
                head, body = rest, body[1:]
            else:
                new[head].append(body)
    nullable = fixpoint(lambda known: {v for v in new if any(all(x in known for x in body) for body in new[v])})
    shorter = {  # DEL: what can vanish is left out in every way; ε itself is only remembered
        v: {
            tuple(filter(None, pick))
            for body in bodies
            for pick in product(*[{x, x * (x not in nullable)} for x in body])
        }
        for v, bodies in new.items()
    }
    final = {}
    for v in new:  # UNIT: A → B takes over B's bodies
        reach = fixpoint(lambda known, v=v: {v} | {b[0] for a in known for b in shorter[a] if len(b) == 1} & set(new))
        final[v] = {b for a in reach for b in shorter[a] if len(b) == 2 or (len(b) == 1 and b[0] not in new)}
    makes = fixpoint(lambda known: {v for v in final if any(known.issuperset(set(b) & set(new)) for b in final[v])})
    final = {v: {b for b in bodies if all(x in makes or x not in new for x in b)} for v, bodies in final.items()}
    used = fixpoint(lambda known: {"S'"} | {x for v in known for b in final[v] for x in b if x in new})
    names = ("S'", *sorted(used - {"S'"}))  # what makes no string or is never reached is gone
    number = {v: i for i, v in enumerate(names)}
    return CNF(
        names,
        tuple(sorted((number[v], b[0]) for v in names for b in final[v] if len(b) == 1)),
        tuple(sorted((number[v], number[b[0]], number[b[1]]) for v in names for b in final[v] if len(b) == 2)),
        "S'" in nullable,
    )


def fixpoint(grow) -> set[str]:
    known: set[str] = set()
    while not (more := grow(known)) <= known:
        known |= more
    return known


# --8<-- [end:cnf]

# --8<-- [start:grammars]
DYCK = {"S": [("S", "S"), ("(", "S", ")"), ("[", "S", "]"), ()]}
PALINDROMES = {"S": [("0", "S", "0"), ("1", "S", "1"), ("0",), ("1",), ()]}


def is_dyck(word: str) -> bool:
    open_ones = []
    for letter in word:
        if letter in "([":
            open_ones.append(letter)
        elif not open_ones or open_ones.pop() + letter not in ("()", "[]"):
            return False
    return not open_ones


def is_palindrome(word: str) -> bool:
    return word == word[::-1]


# --8<-- [end:grammars]


# --8<-- [start:cyk]
def cyk(grammar: CNF, word: str) -> list[list[int]]:
    """table[length][start]: the set of variables that derive this part of the word, a bit each."""
    n = len(word)
    table = [[0] * (n + 1) for _ in range(n + 1)]
    table[1][:n] = [sum(1 << a for a, letter in grammar.letters if letter == x) for x in word]
    for length in range(2, n + 1):
        for start in range(n - length + 1):
            for k in range(1, length):
                left, right = table[k][start], table[length - k][start + k]
                for a, b, c in grammar.pairs:
                    if left >> b & right >> c & 1:
                        table[length][start] |= 1 << a
    return table


def derives(grammar: CNF, word: str) -> bool:
    return bool(cyk(grammar, word)[len(word)][0] & 1) if word else grammar.empty


# --8<-- [end:cyk]
