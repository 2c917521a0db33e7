"""An answer's counters against its budget, from softcuda's profile of one launch."""

from __future__ import annotations

from typing import Any

from warpjudge.exercise import Budget

Row = dict[str, Any]
CAUSES = {
    "sectors_per_load": "uncoalesced",
    "sectors_per_store": "uncoalesced",
    "bank_conflicts": "bank-conflicts",
    "instructions_per_warp": "instructions",
    "bytes_loaded": "bytes",
    "bytes_stored": "bytes",
    "barriers_per_warp": "barriers",
    "diverged_branches": "divergence",
    "atomics": "atomics",
}
RATIOS = ("sectors_per_load", "sectors_per_store", "barriers_per_warp")  # hold at any size
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
WASTED = 1.5  # sectors touched, over those that the bytes need: from here on the pattern of the lanes is to blame
FEW_LANES = 24  # of 32, active on average: below this the line's divergence is named
LONE_LANES = 2  # of 32, active in an access: up to this their number is named
SLACK = 1.1  # at a size that nobody can foresee


def of(metrics: dict[str, float], operations: list[dict[str, Any]], warps: int) -> dict[str, float]:
    """The counters that a budget may limit."""

    def total(start: str) -> float:
        return sum(value for name, value in metrics.items() if name.startswith(start))

    def ratio(kind: str) -> float:
        requests = metrics.get(GLOBAL.format("requests", kind), 0)
        return metrics.get(GLOBAL.format("sectors", kind), 0) / requests if requests else 0.0

    barriers = sum(one["warps"] for one in operations if one["text"].startswith(("bar.", "barrier.")))
    return {
        "sectors_per_load": ratio("ld"),
        "sectors_per_store": ratio("st"),
        "bank_conflicts": total("l1tex__data_bank_conflicts"),
        "instructions_per_warp": metrics.get("softcuda__warp_instructions.sum", 0) / max(1, warps),
        "bytes_loaded": 32 * metrics.get(GLOBAL.format("sectors", "ld"), 0),
        "bytes_stored": 32 * metrics.get(GLOBAL.format("sectors", "st"), 0),
        "barriers_per_warp": barriers / max(1, warps),
        "diverged_branches": metrics.get("softcuda__branches_diverged.sum", 0),
        "atomics": metrics.get(GLOBAL.format("requests", "atom"), 0) + metrics.get(GLOBAL.format("requests", "red"), 0),
    }


def rows(lines: list[dict[str, Any]], operations: list[dict[str, Any]], file: str) -> list[Row]:
    """Per line of the answer, in its order: what the page shows beside it."""
    barriers: dict[int, float] = {}
    for one in operations:
        if one["text"].startswith(("bar.", "barrier.")):
            barriers[one["line"]] = barriers.get(one["line"], 0) + one["warps"]
    found = []
    for row in lines:
        if row["file"].rpartition("/")[2] != file:
            continue
        m = row["metrics"]
        requests = sum(value for name, value in m.items() if name.startswith("l1tex__t_requests"))
        sectors = sum(value for name, value in m.items() if name.startswith("l1tex__t_sectors"))
        shared = sum(value for name, value in m.items() if name.startswith("softcuda__requests_shared"))
        found.append(
            {
                "line": row["line"],
                "instructions": int(m.get("softcuda__warp_instructions.sum", 0)),
                "lanes": round(m.get("softcuda__active_lanes_per_warp_instruction.ratio", 0), 1),
                "loads": int(m.get(GLOBAL.format("requests", "ld"), 0)),
                "stores": int(m.get(GLOBAL.format("requests", "st"), 0)),
                "load_sectors": int(m.get(GLOBAL.format("sectors", "ld"), 0)),
                "store_sectors": int(m.get(GLOBAL.format("sectors", "st"), 0)),
                "atomics": int(
                    m.get(GLOBAL.format("requests", "atom"), 0) + m.get(GLOBAL.format("requests", "red"), 0)
                ),
                "sectors_per_request": round(sectors / requests, 2) if requests else 0,
                "shared": int(shared),
                "conflicts": int(sum(v for k, v in m.items() if k.startswith("l1tex__data_bank_conflicts"))),
                "diverged": int(m.get("softcuda__branches_diverged.sum", 0)),
                "barriers": int(barriers.get(row["line"], 0)),
            }
        )
    return sorted(found, key=lambda row: int(row["line"]))


def most(lines: list[Row], key: str) -> Row:
    return max(lines, key=lambda row: row[key], default={"line": 0, key: 0})


def widest(operations: list[dict[str, Any]], kind: str) -> tuple[Row, float]:
    """The instruction that touches most sectors beyond what its bytes need, and how many elements apart lanes are."""
    known = [one for one in operations if (one.get("global") or {}).get("access") == kind and one["global"]["requests"]]
    if not known:
        return {"line": 0}, 1.0
    worst = max(known, key=lambda one: one["global"]["sectors"] - one["global"]["bytes"] / 32)
    traffic = worst["global"]
    return worst, 32 * traffic["sectors"] / max(1, traffic["bytes"])


def has_neighbours(operation: dict[str, Any]) -> bool:
    """Whether its requests come from several lanes: 16 bytes may be one lane's."""
    traffic = operation.get("global", {"bytes": 0, "requests": 0})
    return bool(traffic["bytes"] > 16 * traffic["requests"])


def waste(operations: list[dict[str, Any]], kind: str) -> float:
    """Bytes of all sectors beyond those that the threads asked for."""
    traffic = [one["global"] for one in operations if (one.get("global") or {}).get("access") == kind]
    return float(sum(max(0, 32 * one["sectors"] - one["bytes"]) for one in traffic))


def over(
    budget: Budget,
    found: dict[str, float],
    lines: list[Row],
    operations: list[dict[str, Any]],
    slack: float = 1.0,
    names: Any = None,
) -> list[Row]:
    """What exceeds the budget, as messages without words; the furthest above its limit first."""
    exceeded = []
    for name, limit in budget.limits().items():
        value = found[name]
        if value <= limit * slack + 1e-9 or (names is not None and name not in names):
            continue
        values: Row = {"value": round(value, 1), "limit": limit}
        if name.startswith("sectors_per"):
            kind = "load" if name.endswith("load") else "store"
            worst, stride = widest(operations, kind)
            values |= {"operation": kind, "stride": f"{stride:.0f}" if stride < 7.5 else "far"}
        elif name == "bank_conflicts":
            worst = most(lines, "conflicts")
            requests_shared = max(1, worst.get("shared", 1))
            values |= {"ways": round(1 + worst["conflicts"] / requests_shared, 1), "ideal": 1}
        elif name == "instructions_per_warp":
            worst = most(lines, "instructions")
            everything = sum(row["instructions"] for row in lines) or 1
            values |= {"share": round(100 * worst["instructions"] / everything), "lanes": worst.get("lanes", 32)}
        elif name.startswith("bytes"):
            kind = "load" if name == "bytes_loaded" else "store"
            worst = most(lines, f"{kind}_sectors")
            widest_line, stride = widest(operations, kind)
            wasteful = stride >= WASTED and waste(operations, kind) >= (value - limit) / 2
            worst = widest_line if wasteful else worst
            values |= {"operation": "loaded" if kind == "load" else "stored"}
            if wasteful:
                values |= {"stride": f"{stride:.0f}" if stride < 7.5 else "far", "unused": round(100 - 100 / stride)}
                values |= {"lanes": round(worst.get("lanes", 32) / worst.get("warps", 1))}
        else:
            worst = most(lines, {"diverged_branches": "diverged", "atomics": "atomics"}.get(name, "barriers"))
        cause = CAUSES[name]
        if name.startswith("sectors_per") and stride < WASTED:
            cause = "scattered"
        elif name.startswith("bytes") and wasteful:
            if has_neighbours(worst):
                cause = "bytes-strided"
            elif values["lanes"] <= LONE_LANES:
                cause = "few-lanes"
        elif name == "instructions_per_warp" and worst.get("diverged") and values["lanes"] < FEW_LANES:
            cause = "diverged-instructions"
        exceeded.append(
            {
                "cause": cause,
                "values": values,
                "line": worst["line"],
                "excess": value / max(limit, 1e-9),
            }
        )
    return sorted(exceeded, key=lambda one: -one["excess"])
