"""Claims: what claims.toml may say, what is judged, and what a page shows before a GPU has been asked."""

from __future__ import annotations

import re

import pytest
from recorded import keep, launch, value

from warpbook import cli
from warpbook.book import BookError
from warpbook.check import checks
from warpbook.pipeline.extension import parse
from warpbook.records import claims, records
from warpbook.records.claims import Score
from warpbook.records.values import Values
from warpbook.source.pages import Page

HALF = """
[a.half]
en = "b takes half as long as a"
zh = "b 的用时是 a 的一半"
ratio = ["a.time", "b.time"]
predicted = "4 / 2"
source = "half the bytes"
at_least = 1.9
"""
H200 = "nvidia-h200"


def measured(small, a: float, b: float = 1.0) -> None:
    keep(small, H200, "x", {"x/a.py": {"values": {"a.time": value(a, "s"), "b.time": value(b, "s")}}})


def test_a_claim_that_no_longer_holds_is_named_with_its_file(small, write):
    write("snippets/x/claims.toml", HALF)
    measured(small, 1.2)
    assert claims.broken(small, H200, "x") == [
        "snippets/x/claims.toml: [a.half] no longer holds on nvidia-h200: it says at least 1.9×, the record 1.20×; "
        f"change the claim, or {records.remedy(H200, 'x')}"
    ]
    measured(small, 2.1)
    assert claims.broken(small, H200, "x") == []


def test_a_value_that_a_gpu_did_not_record_is_named(small, write):
    write("snippets/x/claims.toml", HALF.replace("b.time", "b.tme"))
    measured(small, 2.0)
    assert claims.broken(small, H200, "x") == [
        "snippets/x/claims.toml: [a.half]: the record of nvidia-h200 has no a.time / b.tme"
    ]


@pytest.mark.parametrize(
    "edit", [("at_least = 1.9", "at_least = 9.25"), ('"4 / 2"', "3"), ("一半", "二分之一"), ("half as", "½ as")]
)
def test_gates_predictions_and_words_are_those_of_the_file_and_stale_nothing(small, write, edit):
    write("snippets/x/claims.toml", HALF)
    measured(small, 2.0)
    write("snippets/x/claims.toml", HALF.replace(*edit))
    assert records.stale(small, H200, "x") == []
    [one] = claims.judged(small, H200, "x")
    assert one.holds is ("9.25" not in edit[1])
    assert one.claim.predicted == (3 if edit[1] == "3" else 2)


@pytest.mark.parametrize(
    ("predicted", "found", "said"),
    [
        (2.0, 2.4, "close"),
        (2.0, 1.6, "close"),
        (2.0, 1.5, "near"),
        (2.0, 4.0, "near"),
        (2.0, 4.1, "off"),
        (2.0, -2.0, "off"),
        (0.0, 0.0, "close"),
        (0.0, 0.1, None),  # no factor leads from zero
    ],
)
def test_a_prediction_is_judged_by_its_factor(small, write, predicted, found, said):
    write("snippets/x/claims.toml", HALF.replace('"4 / 2"', str(predicted)))
    measured(small, found)
    [one] = claims.judged(small, H200, "x")
    assert one.prediction == said
    assert claims.score([one]) == Score(*(int(kind == said) for kind in ("close", "near", "off")))


def test_a_claim_about_counters_is_judged_by_what_was_counted(small, write):
    write("docs/en/x.md", '---\ncounters: ["x/a.py"]\n---\n# X\n')
    write(
        "snippets/x/claims.toml",
        '[a.coalesced]\nen = "c"\nzh = "合"\nratio = ["bad.sectors.sum", "good.sectors.sum"]\n'
        'at_least = 8\ncounters = "x/a.py"\n',
    )
    launches = [launch("bad", {"sectors.sum": 32}), launch("good", {"sectors.sum": 4})]
    write("snippets/x/a.py", "")
    keep(small, "softcuda", "x", {"x/a.py": {}}, counters={"x/a.py": launches})
    assert [one.holds for one in claims.judged(small, "softcuda", "x")] == [True]
    assert claims.live(small, "x", {"x/a.py": launches}) == []
    launches[0]["metrics"]["sectors.sum"] = 16
    assert claims.live(small, "x", {"x/a.py": launches}) == [
        "snippets/x/claims.toml: [a.coalesced] says at least 8×; softcuda counts 4.00× now"
    ]


def test_softcuda_is_not_asked_for_a_counter_claimed_of_a_gpu_only(small, write):
    write(
        "snippets/x/claims.toml",
        '[a.dram]\nen = "c"\nzh = "合"\nratio = ["one.dram.sum", "other.dram.sum"]\n'
        f'at_least = 2\ncounters = "x/a.py"\ndevice = "{H200}"\n',
    )
    write("snippets/x/a.py", "")
    assert claims.live(small, "x", {"x/a.py": [launch("one", {"sectors.sum": 4}), launch("other", {})]}) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[a.half]", "[b.half]", "[b]: there is no snippets/x/b.py"),
        ("at_least", "at_lest", '[a.half]: unknown key "at_lest"; did you mean "at_least"?'),
        ('ratio = ["a.time", "b.time"]', "", "[a.half]: give either ratio = [a, b] or value = a"),
        ('ratio = ["a.time", "b.time"]', 'ratio = ["a.time"]', "a.half.ratio: must contain at least 2 items"),
        (
            '"4 / 2"',
            '"__import__(1)"',
            '[a.half]: predicted: "__import__(1)" is neither a number nor arithmetic of numbers',
        ),
        ('"4 / 2"', '"4 / 0"', '[a.half]: predicted: "4 / 0" is neither a number nor arithmetic of numbers'),
        ('"4 / 2"', "nan", "[a.half]: predicted: "),
        ("1.9", "true", "a.half.at_least: "),
        ("at_least = 1.9", "goal_at_least = true", "a.half.goal_at_least: "),
        ("at_least", "gaol_at_least", '[a.half]: unknown key "gaol_at_least"; did you mean "goal_at_least"?'),
        ("at_least = 1.9", 'goal_at_most = "1 / 0"', '[a.half]: goal_at_most: "1 / 0" is neither a number nor'),
        (
            "at_least = 1.9",
            "goal_at_least = 2\ngoal_at_most = 1",
            "[a.half]: goal_at_least is above goal_at_most, so no number can be between them",
        ),
        (
            'predicted = "4 / 2"\nsource = "half the bytes"\nat_least = 1.9\n',
            "",
            "[a.half]: predict something, or give a goal, such as goal_at_least, or a gate, such as at_least",
        ),
        ("zh = ", "zh: ", "not TOML: "),
    ],
)
def test_what_claims_toml_must_not_say(small, write, old, new, said):
    write("snippets/x/a.py", "")
    write("snippets/x/claims.toml", HALF.replace(old, new))
    with pytest.raises(BookError) as raised:
        claims.of_article(small, "x")
    assert str(raised.value).startswith(f"snippets/x/claims.toml: {said}")
    assert "\n" not in str(raised.value)


def test_the_terminal_s_table_scores_predictions_before_gates(small, write):
    write("snippets/x/claims.toml", HALF)
    measured(small, 2.0)
    lines = claims.table(claims.everything(small, [H200])).splitlines()
    assert lines[1].split("  ")[0] == "x/a.py:half" and "within 25 %" in lines[1]
    assert lines[-4:] == [
        "nvidia-h200: of 1 predictions 1 were within 25 %, 0 within a factor of 2, 0 off by more",
        "goals, set before measuring: 0 of 0 met",
        "regression gates, set after measuring: 1 of 1 hold",
        "pending (not yet measured on a GPU): 0",
    ]


# -- goals ---------------------------------------------------------------------------------------------------------

GOAL = HALF.replace("at_least = 1.9", "goal_at_least = 1.9")


@pytest.mark.parametrize(
    ("bounds", "found", "said"),
    [
        ("goal_at_least = 1.9", 1.9, "met"),
        ("goal_at_least = 1.9", 1.8, "missed"),
        ("goal_at_most = 1.9", 1.9, "met"),
        ("goal_at_most = 1.9", 2.0, "missed"),
        ('goal_at_least = "18 / 10"\ngoal_at_most = 2.2', 2.3, "missed"),
        ("at_least = 1.9", 1.8, None),
    ],
)
def test_a_goal_is_met_or_missed(small, write, bounds, found, said):
    write("snippets/x/claims.toml", HALF.replace("at_least = 1.9", bounds))
    measured(small, found)
    [one] = claims.judged(small, H200, "x")
    assert one.goal == said
    assert claims.goals([one]) == (int(said == "met"), int(said is not None))


def test_a_missed_goal_is_listed_and_fails_neither_check_nor_release(small, write, capsys):
    write("snippets/x/claims.toml", GOAL)
    measured(small, 1.2)
    [one] = claims.judged(small, H200, "x")
    assert one.holds is None and not one.falls_short
    assert claims.broken(small, H200, "x") == []
    assert cli.claims(small, [H200], release=True) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "at least 1.9×: missed" in lines[1]
    assert lines[-4:-1] == [
        "goals, set before measuring: 0 of 1 met",
        "  missed: x/a.py:half: at least 1.9×, measured 1.20× on nvidia-h200",
        "regression gates, set after measuring: 0 of 0 hold",
    ]


def test_a_gate_under_a_missed_goal_is_judged_apart(small, write):
    write("snippets/x/claims.toml", GOAL + "at_least = 1.1\n")
    measured(small, 1.2)
    [one] = claims.judged(small, H200, "x")
    assert (one.goal, one.holds, one.gate("en"), one.goal_text("zh")) == (
        "missed",
        True,
        "at least 1.1×",
        "不低于 1.9×",
    )
    measured(small, 1.0)
    assert len(claims.broken(small, H200, "x")) == 1


def test_a_goal_is_pending_before_a_gpu_is_asked(small, write):
    write("snippets/x/a.py", "")
    write("snippets/x/claims.toml", GOAL)
    found = claims.everything(small, [H200])
    assert [one.goal for one in found] == ["pending"] and claims.goals(found) == (0, 0)
    assert "at least 1.9×: pending" in claims.table(found)


# -- pending -------------------------------------------------------------------------------------------------------

PAGE = "# X\n\n{{ b.time }} and {{ a.time / b.time }}\n\n{{ chart:bars a.time b.time }}\n\n{{ claims }}\n"


def test_before_a_gpu_is_asked_pages_say_so_and_nothing_fails(small, write):
    page = Page(small, write("docs/en/x.md", PAGE))
    write("snippets/x/a.py", "")
    write("snippets/x/claims.toml", HALF)
    made = parse(page, "en", Values(small))
    assert made.problems == []
    shown = [*made.values.values(), *(html for _, html in made.directives)]
    assert ["not yet measured on a GPU" in html for html in shown] == [True] * 4
    assert claims.broken(small, H200, "x") == []
    assert claims.table(claims.everything(small, [H200])).endswith("pending (not yet measured on a GPU): 1")


def test_an_edited_kernel_makes_its_numbers_pending_and_no_others(small, write):
    write("snippets/x/a.py", 'KERNEL = "k.cu"\n')
    write("snippets/x/b.py", "")
    kernel = write("snippets/x/k.cu", "__global__ void k() {}\n")
    page = Page(small, write("docs/en/x.md", "# X\n\n{{ a.time }} and {{ other.time }}\n"))
    programs = {
        "x/a.py": {"values": {"a.time": value(1.0, "s")}},
        "x/b.py": {"values": {"other.time": value(2.0, "s")}},
    }
    keep(small, H200, "x", programs)
    assert "not yet measured" not in parse(page, "en", Values(small)).html
    kernel.write_text("__global__ void k() { return; }\n", "utf-8")
    shown = parse(page, "en", Values(small))
    assert shown.problems == []
    assert "not yet measured on a GPU and 2.00\u00a0s" in re.sub(r"<[^>]+>", "", shown.html)
    assert records.pending(small, H200, "x") == ["x/a.py"]
    [line] = checks.waiting(small, [H200])
    assert line.startswith(
        "pending: nvidia-h200 has not measured x/a.py of x yet; pages say so, and you may commit; run "
    )


def test_a_misspelt_name_is_no_pending_one(small, write):
    page = Page(small, write("docs/en/x.md", "# X\n\n{{ a.tme }}\n"))
    measured(small, 1.0)
    [problem] = parse(page, "en", Values(small)).problems
    assert problem == 'docs/en/x.md:3: no value "a.tme" in records/nvidia-h200/x.json; did you mean "a.time"?'


def test_an_output_is_shown_of_the_devices_that_ran_this_very_block(small, write):
    path = write("docs/en/x.md", "# X\n\n```python\nprint(6 * 7)\n```\n")
    for device, name in ((H200, "NVIDIA H200"), ("softcuda", "softcuda")):
        keep(small, device, "x", machine={"name": name}, printed=[f"42 by {name}\n"])
    path.write_text(path.read_text("utf-8").replace("6 * 7", "6 * 8"), "utf-8")
    keep(small, "softcuda", "x", machine={"name": "softcuda"}, printed=["48 by softcuda\n"])
    made = parse(Page(small, path), "en", Values(small))
    assert made.problems == []
    assert "48 by softcuda" in made.html and "42 by" not in made.html


def test_a_release_waits_for_the_gpu(small, write):
    write("snippets/x/a.py", "")
    assert claims.unreleased(small) == ["records/nvidia-h200/x.json: pending: x/a.py"]
    measured(small, 1.0)
    assert claims.unreleased(small) == []
