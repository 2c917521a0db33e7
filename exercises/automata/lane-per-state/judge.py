"""An automaton of 32 states over pieces of 128 symbols: a lane per state, and a shuffle per symbol."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK, WARP, PIECE = 256, 32, 128
PER_BLOCK = PIECE * BLOCK // WARP
AT = 1 << 13


def inputs(random, n):
    step = [np.argsort(random.floats(WARP), kind="stable") for _ in range(2)]  # permutations: no two starts ever meet
    step[1][random.integers(1, 0, WARP - 1)] = random.integers(1, 0, WARP - 1)  # but for one move
    return {"text": random.integers(n, 0, 1, "uint8"), "step": np.concatenate(step).astype(np.int32), "n": n}


def pieces(text):
    return [text[i : i + PIECE] for i in range(0, text.size, PIECE)]


def walk(piece, step):
    """To which state a piece leads from each state, symbol by symbol."""
    states = np.arange(WARP)
    for symbol in piece.tolist():
        states = step[WARP * symbol + states]
    return states


def walks(texts, step):
    return np.concatenate([walk(piece, step) for piece in texts])


def reference(text, step, n):
    return {"to": walks(pieces(text), step)}


def one_of(failure, variants):
    """The first variant of the walk that gives the answer, if one does."""
    step = failure.inputs["step"]
    return next((i for i, texts in enumerate(variants) if np.array_equal(failure.got, walks(texts, step))), None)


def first_wrong(failure):
    return {"w": int(np.argmax(failure.wrong)) // WARP}


def order(failure):
    """The functions of the symbols are composed the other way round, as a whole or 32 at a time."""
    texts = pieces(failure.inputs["text"])
    groups = [np.concatenate([t[i : i + WARP][::-1] for i in range(0, t.size, WARP)]) for t in texts]
    found = one_of(failure, ([t[::-1] for t in texts], groups))
    if found is None:
        return None
    if found == 1:
        return Cause(
            "groups-backwards",
            first_wrong(failure),
            {
                "en": "{size}: piece {w} is walked backwards within each 32 symbols: bit i of a ballot is from lane i, "
                "so the lowest bit is the first symbol",
                "zh": "{size}：第 {w} 段每 32 个符号之内是倒着走的：投票结果的第 i 位来自 lane i，最低位才是第一个符号",
            },
        )
    return Cause(
        "order",
        first_wrong(failure),
        {
            "en": "{size}: piece {w} is composed in the wrong order: lane q holds f(q), where the text so far leads, "
            "and asks lane f(q) what the next symbol does; the state is the index, not the value",
            "zh": "{size}：第 {w} 段的复合次序反了：lane q 记着到目前为止走到的 f(q)，"
            "要向 lane f(q) 读取下一个符号的作用；状态是洗牌的下标，不是被读取的值",
        },
    )


def one_start(failure):
    """All lanes start in state 0, or in one other state."""
    got, want = failure.got.reshape(-1, WARP), failure.want.reshape(-1, WARP)
    if not any(np.array_equal(got, np.repeat(want[:, q : q + 1], WARP, axis=1)) for q in range(WARP)):
        return None
    return Cause(
        "one-start",
        first_wrong(failure),
        {
            "en": "{size}: in piece {w} all lanes give the same state: nobody knows in which state a piece begins, so "
            "lane q must start in state q",
            "zh": "{size}：第 {w} 段各 lane 的结果都一样：一段从哪个状态开始并不知道，所以 lane q 要从状态 q 出发",
        },
    )


def letters(failure):
    """0 and 1 exchanged."""
    if one_of(failure, ([1 - t for t in pieces(failure.inputs["text"])],)) is None:
        return None
    return Cause(
        "letters",
        first_wrong(failure),
        {
            "en": "{size}: symbols 0 and 1 are exchanged: step[q] is for symbol 0, step[32 + q] for symbol 1",
            "zh": "{size}：符号 0 和 1 弄反了：step[q] 对应符号 0，step[32 + q] 对应符号 1",
        },
    )


def tail(failure):
    """The last piece is filled up, or loses symbols."""
    texts = pieces(failure.inputs["text"])
    last = texts[-1]
    filled = [np.concatenate([last, np.zeros(-last.size % m, np.uint8)]) for m in (WARP, PIECE)]
    filled += [np.concatenate([last, np.ones(-last.size % m, np.uint8)]) for m in (WARP, PIECE)]
    found = one_of(failure, [[*texts[:-1], f] for f in (*filled, last[: last.size // WARP * WARP])])
    if found is None:
        return None
    what = "" if found < 4 else "-cut"
    return Cause(
        "tail" + what,
        first_wrong(failure),
        {
            "en": "{size}: the last piece, {w}, goes on after the end of the text: symbols that are not there must "
            "leave every state where it is",
            "zh": "{size}：最后一段（第 {w} 段）走过了文本末尾：不存在的符号不能改变任何状态",
        }
        if not what
        else {
            "en": "{size}: the last piece, {w}, lacks the symbols after the last full group of 32",
            "zh": "{size}：最后一段（第 {w} 段）漏掉了最后不满 32 个的符号",
        },
    )


def symbol_left_out(failure):
    """The first or the last symbol of each piece."""
    texts = pieces(failure.inputs["text"])
    found = one_of(failure, ([t[:-1] for t in texts], [t[1:] for t in texts]))
    if found is None:
        return None
    return Cause(
        "symbol-left-out",
        first_wrong(failure),
        {
            "en": "{size}: each piece lacks its " + ("last", "first")[found] + " symbol, for example piece {w}",
            "zh": "{size}：每一段都漏掉了" + ("最后", "第")[found] + "一个符号，例如第 {w} 段",
        },
    )


exercise = Exercise(
    kernel="void states(const unsigned char* text, const int* step, int* to, int n)",
    sizes=Sizes(
        [31, 32, 33, 97, 127, 128, 129, 131, 255, 257, 1023, 1024, 1025, 2055]
    ),  # fewer symbols tell too little
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // PER_BLOCK), block=BLOCK),
    causes=(order, one_start, letters, tail, symbol_left_out),
    budget=Budget(at=AT, instructions_per_warp=1500, bytes_loaded=4 * AT, bank_conflicts=0, barriers_per_warp=2),
)
