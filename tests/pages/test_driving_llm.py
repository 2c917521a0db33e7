"""The drives of the article on driving, one at a time with plain numbers, beside what it computes for all at once."""

from __future__ import annotations

import math
from types import ModuleType

import pytest

from warpbook.book import here

pytestmark = pytest.mark.inputs("snippets/driving-llm", "snippets/warpbench.py")


@pytest.fixture
def drive(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(here().snippets / "driving-llm"))
    import _drive

    return _drive


def by_hand(v: float, y: float, psi: float, bend: float, gap: float, lead_v: float, hard: float, at: int, brakes: int):
    """Position, offset, speed, least gap and step of the collision of one drive, written from the description."""
    s, lead, least = 0.0, None, 1000.0
    for t in range(200):
        if t == at:
            lead = s + gap
        braking = 0.0
        if lead is not None:
            room = lead - s
            if room <= 0:
                return s, y, v, least, t
            least = min(least, room)
            closing = v - lead_v
            braking = ((2.0 + max(0.0, v * 1.2 + v * closing / (2 * math.sqrt(1.5 * 2.0)))) / max(room, 0.1)) ** 2
        accel = max(-8.0, 1.5 * (1 - (v / 20) ** 4 - braking))
        steer = min(0.5, max(-0.5, 2.8 * bend - 0.02 * y - 0.4 * psi))
        v = max(0.0, v + accel * 0.05)
        s, y = s + v * math.cos(psi) * 0.05, y + v * math.sin(psi) * 0.05
        psi += v * (math.tan(steer) / 2.8 - bend) * 0.05
        if t >= brakes:
            lead_v = max(0.0, lead_v - hard * 0.05)
        if lead is not None:
            lead += lead_v * 0.05
    return s, y, v, least, -1


def test_drives_agree_with_one_written_by_hand(drive: ModuleType) -> None:
    import numpy as np

    scenes = drive.draw(np.random.default_rng(5), 400)
    found = drive.roll_out(scenes)
    names = ("v", "y", "psi", "curvature", "gap", "lead_v", "hardness", "enters", "brakes")
    hits = 0
    for i in range(400):
        one = [getattr(scenes, name)[i].item() for name in names]
        s, y, v, least, hit = by_hand(*one)
        assert hit == found["hit"][i], drive.NAMES[scenes.kind[i]]
        for name, want in (("s", s), ("y", y), ("v", v), ("gap", least)):
            assert found[name][i] == pytest.approx(want, rel=1e-5, abs=1e-5), (name, drive.NAMES[scenes.kind[i]])
        hits += hit >= 0
    assert 0 < hits < 100


def test_drives_of_every_kind_keep_to_their_lane(drive: ModuleType) -> None:
    import numpy as np

    scenes = drive.draw(np.random.default_rng(6), 400)
    found = drive.roll_out(scenes)
    assert np.abs(found["y"][found["hit"] < 0]).max() < 1.5
    assert (found["hit"][scenes.kind == drive.FREE] < 0).all()


def test_a_table_that_knows_every_cell_makes_no_mistakes_but_its_slips(
    drive: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    import horizon
    import numpy as np

    monkeypatch.setattr(horizon, "TESTS", 50)
    tables = horizon.Tables(horizon.POLICIES)
    y = (np.arange(horizon.ROWS) - horizon.ROWS // 2 + 0.5) * horizon.DY
    psi = (np.arange(horizon.COLUMNS) - horizon.COLUMNS // 2 + 0.5) * horizon.DPSI
    every = np.stack([axis.ravel() for axis in np.meshgrid(y, psi)])
    tables.learn(*(np.broadcast_to(axis, (horizon.POLICIES, len(axis))) for axis in every))
    found, left = horizon.test(np.random.default_rng(9), tables)
    expected = horizon.SLIP * np.array(horizon.HORIZONS)  # of 1000 drives
    assert np.abs(found.mean(1) - expected).max() < 4 * np.sqrt(expected[-1] / 1000)
    assert not left.any()

    nothing = horizon.Tables(horizon.POLICIES)
    assert horizon.test(np.random.default_rng(9), nothing)[1].mean() > 95, (
        "whoever steers straight ahead leaves the lane"
    )


def test_the_blind_planner_keeps_its_speed_and_the_sighted_one_stops(drive: ModuleType) -> None:
    import ego
    import numpy as np

    scene = ego.Scene(np.random.default_rng(3), 500, True)
    start = scene.v.copy()
    for _ in range(60):
        scene.advance(ego.blind(scene))
    np.testing.assert_allclose(scene.x, 3 * start)
    scene = ego.Scene(np.random.default_rng(3), 500, True)
    for _ in range(ego.LONG):
        scene.advance(ego.follow(scene, scene.v, scene.gap, scene.lead_v))
    assert (scene.gap > 0).all()
    assert scene.v.max() < 2
