"""A simulated service with the step times of this page, which prefills first or in chunks: TTFT, TPOT and goodput.

python goodput.py        no kernel is launched: requests queue at several rates of arrival
python goodput.py 32     at most 32 tokens per step, of 64
"""

import sys
from collections import deque

import numpy as np
import warpbench as wb

# --8<-- [start:serve]
STEP, SEQUENCE, TOKEN = 713e-6, 13.2e-6, 5.86e-6  # s: a step, and per sequence, per prompt token
ROWS, PROMPT, ANSWER = 64, 896, 128  # tokens: at most in a step, in each prompt, in each answer


def serve(arrivals: np.ndarray, chunked: bool, rows: int = ROWS) -> np.ndarray:
    """When each token of each answer is ready, in seconds: (request, token)."""
    times: list[list[float]] = [[] for _ in arrivals]
    left, arrived, now = [PROMPT] * len(arrivals), 0, 0.0
    waiting, decoding = deque[int](), list[int]()
    while arrived < len(arrivals) or waiting or decoding:
        if not waiting and not decoding:
            now = max(now, arrivals[arrived])
        while arrived < len(arrivals) and arrivals[arrived] <= now:
            waiting.append(arrived)
            arrived += 1
        prefill_first = not chunked and waiting and len(decoding) < rows
        batch = [] if prefill_first else decoding
        tokens, begun = 0, []
        while waiting and tokens < rows - len(batch):  # the other rows: oldest prompts
            piece = min(left[waiting[0]], rows - len(batch) - tokens)
            left[waiting[0]] -= piece
            tokens += piece
            if left[waiting[0]] == 0:
                begun.append(waiting.popleft())  # has its first token
        now += STEP + SEQUENCE * len(batch) + TOKEN * tokens
        for request in batch + begun:
            times[request].append(now)
        decoding = [request for request in decoding if len(times[request]) < ANSWER] + begun
    return np.array(times)


# --8<-- [end:serve]

RATES, REQUESTS, SEED = (10, 20, 30, 40, 50, 60), 2000, 64
NAMED = (20, 40)  # rates whose numbers the page names
MOST_TTFT, MOST_TPOT = 0.1, 0.002  # seconds: the targets


def judge(arrivals: np.ndarray, times: np.ndarray) -> dict[str, float]:
    """Percentiles in seconds; tokens per second; and requests per second that meet both targets."""
    ttft, itl = times[:, 0] - arrivals, np.diff(times)
    tpot, lasted = itl.mean(1), times.max() - arrivals[0]
    found = {"tokens": times.size / lasted}
    for name, seconds in {"ttft": ttft, "tpot": tpot, "itl": itl}.items():
        found |= {f"{name}.p{percent}": float(np.percentile(seconds, percent)) for percent in (50, 99)}
    return found | {"goodput": np.sum((ttft <= MOST_TTFT) & (tpot <= MOST_TPOT)) / lasted}


def check_lone_request(chunked: bool, rows: int) -> None:
    """A request that shares nothing: its prompt in whole steps, then a step per token."""
    times = serve(np.array([1.0]), chunked, rows)[0]
    first = 1 + -(-PROMPT // rows) * STEP + PROMPT * TOKEN
    wb.check(times, first + np.arange(ANSWER) * (STEP + SEQUENCE), 1e-9, "tokens of a lone request")


def check_full_steps(rows: int) -> None:
    """If all requests are there at once, chunks fill every step, until the last prompt is done."""
    requests = 50 * rows
    lasted = serve(np.zeros(requests), True, rows).max()
    steps = requests * (PROMPT + ANSWER - 1) / rows
    least = steps * STEP + requests * (PROMPT * TOKEN + (ANSWER - 1) * SEQUENCE)
    wb.check(lasted, least, ANSWER * STEP, "seconds of full steps")


def parse_rows(arguments: list[str]) -> int:
    if not arguments:
        return ROWS
    if len(arguments) > 1 or not arguments[0].isdecimal() or not 1 <= int(arguments[0]) <= ROWS:
        sys.exit(f"goodput.py: {' '.join(arguments)!r}: give at most one argument, tokens per step, from 1 to {ROWS}")
    return int(arguments[0])


if __name__ == "__main__":
    wb.measure_cpu()
    most = parse_rows(sys.argv[1:])
    check_full_steps(most)
    print(f"times in ms, {most} rows   tokens/s   TTFT p50     p99   TPOT p50   p99   ITL p50     p99   goodput")
    for name, in_chunks in (("first", False), ("chunked", True)):
        check_lone_request(in_chunks, most)
        results = []
        for rate in RATES:
            due = np.random.default_rng(SEED).exponential(1 / rate, REQUESTS).cumsum()
            found = judge(due, serve(due, in_chunks, most))
            for what, number in found.items() if rate in NAMED else ():
                wb.value(f"{name}.r{rate}.{what}", number, "1/s" if what in ("tokens", "goodput") else "s")
            ms = {what: 1e3 * number for what, number in found.items()}
            print(
                f"{rate} requests/s, {name:7} {found['tokens']:10.0f} {ms['ttft.p50']:10.1f} {ms['ttft.p99']:7.1f}"
                f" {ms['tpot.p50']:10.2f} {ms['tpot.p99']:5.2f} {ms['itl.p50']:9.2f} {ms['itl.p99']:7.2f}"
                f" {found['goodput']:9.1f}"
            )
            results.append(found["goodput"])
        wb.series(f"goodput.{name}", [float(rate) for rate in RATES], results, x_unit="1/s", unit="1/s")
    wb.series("goodput.all", [float(rate) for rate in RATES], list(map(float, RATES)), x_unit="1/s", unit="1/s")
