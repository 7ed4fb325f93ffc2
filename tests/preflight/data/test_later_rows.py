"""PM742: in a table in the order of time, no input is made from rows after its own when the target is a later row."""

import ast
import json

import numpy as np
import pytest

from premortem.preflight.data.code import habits
from tests.preflight.data.test_truths import found, table, wandering

SCRIPT = "open('load.csv')\ny = frame['target_load']\n"
COUNT = 1500
MISSING = np.random.default_rng(5).random(COUNT) < 0.02


def windows(values, start, end, of=np.mean):
    """One number for each row; NaN where the window leaves the series."""
    made = np.full(len(values), np.nan)
    for at in range(max(0, -start), len(values) - max(0, end)):
        made[at] = of(values[at + start : at + end + 1])
    return made


def later(values, rows):
    return windows(values, rows, rows)


def stamps(count, begin="2023-01-01T00:00", step="h"):
    return [str(np.datetime64(begin) + np.timedelta64(at, step)).replace("T", " ") for at in range(count)]


def written(values, digits=2):
    """As pandas writes them: nothing for what is missing."""
    return ["" if np.isnan(value) else f"{value:.{digits}f}" for value in values]


def site(rng, made, count=COUNT, horizon=1, missing=False):
    load = (500 + 30 * wandering(rng, count)).round(1)
    if missing:
        load[MISSING] = np.nan
    columns = {
        "time": stamps(count),
        "load": written(load, 1),
        "load_lag1": written(later(load, -1), 1),
        "temp": written(wandering(rng, count)),
        "hour": [at % 24 for at in range(count)],
        "row": list(range(count)),
    }
    columns |= {name: written(make(load)) for name, make in made.items()}
    return columns | {"target_load": written(later(load, horizon), 1)}


def mean(start, end):
    return {"load_ma": lambda load: windows(load, start, end)}


@pytest.mark.parametrize(
    ("made", "horizon", "said"),
    [
        (mean(-2, 2), 1, "the mean of `load` from 2 rows before to 2 rows after its own"),
        (mean(0, 5), 1, "the mean of `load` from its own row to 5 rows after its own"),
        (mean(-12, 11), 6, "`load` 6 rows later"),
        (mean(-2, 2), 24, "`load` 24 rows later"),  # before the target, and after its own row
        ({"s": lambda load: windows(load, -84, 83, np.nansum)}, 1, "the sum of `load` from 84 rows before"),
        (
            {"m": lambda load: windows(load, -3, 3, np.max)},
            1,
            "the highest value of `load` from 3 rows before",
        ),
        (
            {"m": lambda load: windows(load, -6, 5, np.min)},
            2,
            "the lowest value of `load` from 6 rows before",
        ),
        (mean(-4, 0), 1, None),
        (mean(-23, 0) | {"m": lambda load: windows(load, -6, 0, np.max)}, 24, None),
        ({"s": lambda load: windows(load, -9, 0, np.sum), "a": lambda load: later(load, -24)}, 1, None),
        (
            {"other": lambda load: later(load, 2), "mean_of_3": lambda load: windows(load, 1, 3)},
            1,
            None,
        ),  # targets, too
    ],
)
@pytest.mark.parametrize("missing", [False, True])
def test_windows_end_at_their_own_row(world, rng, made, horizon, said, missing):
    table(world / "load.csv", site(rng, made, horizon=horizon, missing=missing))
    findings = found(world, "PM742", SCRIPT)
    assert len(findings) == (said is not None)
    assert said is None or said in findings[0].message


@pytest.mark.parametrize(("start", "end", "named"), [(-2, 2, True), (-4, 0, False)])
@pytest.mark.parametrize(
    "way", ["stacked", "in turn", "newest first", "rows left out", "in turn, rows left out"]
)
def test_one_series_or_several(world, rng, start, end, named, way):
    parts = [site(rng, mean(start, end), count=500) | {"site": [f"s{at}"] * 500} for at in range(6)]
    if way in {"newest first", "rows left out"}:
        parts = parts[:1]
    every = {name: [cell for part in parts for cell in part[name]] for name in parts[0]}
    order = np.arange(len(every["time"]))
    if way.startswith("in turn"):
        order = np.argsort(np.tile(np.arange(500), 6), kind="stable")
    elif way == "newest first":
        order = order[::-1]
    if way.endswith("left out"):
        order = order[rng.random(len(order)) < 0.9]
    table(world / "load.csv", {name: [cells[at] for at in order] for name, cells in every.items()})
    assert bool(found(world, "PM742", SCRIPT)) is named


def test_rows_in_no_order_say_nothing(world, rng):
    every, order = site(rng, mean(-2, 2)), rng.permutation(COUNT)
    table(world / "load.csv", {name: [cells[at] for at in order] for name, cells in every.items()})
    assert not found(world, "PM742", SCRIPT)


def test_what_is_smoothed_may_have_been_measured_at_the_same_moment(world, rng):
    """No forecast: the target is a column of its own row, and another one is smoothed."""
    every = site(rng, mean(-2, 2), horizon=0)
    del every["load_lag1"]
    table(world / "load.csv", every)
    assert not found(world, "PM742", SCRIPT)


def test_a_base_may_be_a_lag_of_what_is_not_there(world, rng):
    """The mean of this row and the two before it lies on both sides of the row before."""
    every = site(rng, mean(-2, 0))
    del every["load"]
    table(world / "load.csv", every)
    assert not found(world, "PM742", SCRIPT)


def test_the_target_may_be_the_row_itself_and_the_base_a_lag(world, rng):
    for start, end, named in ((-3, -1, False), (-2, 2, True), (-2, 0, True)):
        every = site(rng, mean(start, end), horizon=0)
        del every["load"]
        table(world / "load.csv", every)
        assert bool(found(world, "PM742", SCRIPT)) is named


@pytest.mark.parametrize(
    ("of", "digits"),
    [
        (lambda now, then: then - now, 1),
        (lambda now, then: then / now - 1, 4),
        (lambda now, then: np.log(then / now), 6),
        (lambda now, then: np.where(np.isnan(then), np.nan, then > now), 0),
    ],
)
@pytest.mark.parametrize(("start", "end", "named"), [(-2, 2, True), (-4, 0, False)])
def test_targets_are_changes_too(world, rng, of, digits, start, end, named):
    every = site(rng, mean(start, end))
    load = np.array([float(cell) for cell in every["load"]])
    table(world / "load.csv", every | {"target_load": written(of(load, later(load, 1)), digits)})
    assert bool(found(world, "PM742", SCRIPT)) is named


@pytest.mark.parametrize(
    ("listed", "named"), [(["load", "ahead", "temp"], True), (["load", "temp", "hour"], False)]
)
def test_a_list_of_inputs_says_what_is_one(world, rng, listed, named):
    """A column that is a later row may be another target."""
    table(world / "load.csv", site(rng, {"ahead": lambda load: later(load, 3)}))
    (world / "columns.json").write_text(json.dumps({"target": "target_load", "features": listed}))
    script = "open('load.csv')\nchosen = json.load(open('columns.json'))\nx, y = chosen['features'], chosen['target']\n"
    assert bool(found(world, "PM742", script)) is named
    (world / "columns.json").unlink()
    assert bool(found(world, "PM742", f"FEATURES = {listed}\n{SCRIPT}")) is named


def test_a_gap_is_filled_from_both_sides(world, rng):
    every = site(rng, {"after": lambda load: later(load, 1)}, horizon=0)
    del every["load"]
    table(world / "load.csv", every)
    assert not found(world, "PM742", f"FEATURES = ['load_lag1', 'after']\n{SCRIPT}")


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("frame['y'] = frame['load'].shift(-1)", True),
        ("H = 6\ny = frame['load'].shift(-H)", True),
        ("frame['y'] = frame['load'].shift(1)", False),
        ("y = frame['load'].shift(-1)\nx = frame.drop(columns=['load_ma'])", False),
    ],
)
def test_the_script_may_take_the_later_row_itself(world, rng, script, named):
    every = site(rng, mean(-6, 6))
    del every["target_load"], every["load_lag1"]
    table(world / "load.csv", every)
    assert bool(found(world, "PM742", f"open('load.csv')\n{script}\n")) is named


def test_what_comes_again_each_day_is_the_same_in_windows_that_end_in_time(world, rng):
    every = site(rng, {})
    tide = np.tile((50 + 30 * rng.normal(0, 1, 24)).round(1), 63)[:COUNT]
    columns = {
        "load": written(tide, 1),
        "load_ma": written(windows(tide, -2, 2)),
        "target_load": written(later(tide, 1), 1),
    }
    table(world / "load.csv", every | columns | {"load_lag1": written(later(tide, -1), 1)})
    assert not found(world, "PM742", SCRIPT)


def test_few_whole_numbers_meet_by_chance(world, rng):
    every = site(rng, {})
    sold = rng.poisson(0.3, COUNT).astype(float)
    every |= {
        "load": written(sold, 0),
        "load_lag1": written(later(sold, -1), 0),
        "target_load": written(later(sold, 1), 0),
    }
    for name in ("a", "b", "c"):
        every[name] = written(rng.poisson(0.3, COUNT).astype(float), 0)
    table(world / "load.csv", every | {"best": written(windows(sold, -6, 0, np.max), 0)})
    assert not found(world, "PM742", SCRIPT)


def test_counters_and_constants_are_no_windows(world, rng):
    every = site(rng, {})
    meter = 1000 + 2.0 * np.arange(COUNT)
    every |= {
        "load": written(meter),
        "load_lag1": written(later(meter, -1)),
        "target_load": written(later(meter, 1)),
    }
    table(
        world / "load.csv",
        every | {"fixed": ["7.5"] * COUNT, "done": written(3 * meter), "next": written(meter + 2)},
    )
    assert not found(world, "PM742", SCRIPT)


def test_whole_counts_of_a_shop(world, rng):
    sold = rng.poisson(np.exp(3 + wandering(rng, COUNT) / 4)).astype(float)
    for start, end, named in ((-3, 3, True), (-6, 0, False)):
        every = site(rng, {}) | {"load": written(sold, 0), "load_lag1": written(later(sold, -1), 0)}
        every |= {"week": written(windows(sold, start, end)), "target_load": written(later(sold, 1), 0)}
        table(world / "load.csv", every)
        assert bool(found(world, "PM742", SCRIPT)) is named


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("frame['y'] = frame['load'].shift(-24)", [("y", "load", 24)]),
        ("H = 3\ny = frame['load'].shift(periods=-H)", [("y", "load", 3)]),
        ("y = frame.groupby('site')['load'].shift(-1)", [("y", "load", 1)]),
        ("y = frame['load'].shift(1)", []),
        ("y = frame['load'].shift(-1) - frame['load']", []),  # something else than the row itself
    ],
)
def test_what_the_script_takes_from_later_rows(source, expected):
    assert list(habits.later(ast.parse(source))) == expected
