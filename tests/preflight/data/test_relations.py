"""Relations that hold in most of the data and break in a part: cells of bench/worlds with their scripts, and what must stay silent."""

from pathlib import Path

import numpy as np
import pytest

import bench.worlds.cells
from bench.worlds.cases import ALL
from premortem.findings import Severity
from premortem.preflight.data.relations import follows, laws, order, units
from premortem.preflight.project import Project
from tests.preflight.data.folded import survey

SCRIPTS = Path(bench.worlds.cells.__file__).parent.parent
NAMED = {
    "visits_of_one_clinic_in_pounds": ("PM617", "pounds and kilograms"),
    "grid_load_in_kilowatts_for_a_month": ("PM617", "a thousand times"),
    "grid_weather_in_fahrenheit": ("PM617", "Fahrenheit and Celsius"),
    "shop_orders_imported_twice": ("PM619", "with their `order_id`"),
    "visits_copied": ("PM619", "under another `patient_id`"),
    "grid_weather_of_the_other_year": ("PM619", "those of `weather_2021.csv`, at other times"),
    "river_stations_mostly_missing": ("PM639", "that `stations.csv` does not have"),
    "shop_orders_cut_off": ("PM639", "from row 300 of `shop.db[customers]` on"),
    "leaf_splits_of_another_export": ("PM639", "366 of 400 entries of `splits.json[train]`"),
    "leaf_pictures_mostly_missing": ("PM639", "called after `image_id`"),
    "survey_folds_overlap": ("PM700", "share 400 entries"),
    "visits_pressures_exchanged": ("PM702", "`systolic` and `diastolic`"),
    "visits_stay_does_not_fit_its_days": ("PM703", "admitted + stay_days"),
    "visits_sex_in_two_codes": ("PM704", "the latter where `clinic` is"),
    "reviews_labels_as_floats": ("PM704", "`1.0`"),
    "wine_norway_is_false": ("PM705", "lists `False`"),
    "grid_load_saturated": ("PM706", "1,480 rows go beyond it"),
    "visits_age_saturated": ("PM706", "ends at 45"),
    "shard_rows_missing_in_labels": ("PM707", "`signal_1.npy` has 399 rows"),
    "vectors_of_a_longer_list": ("PM707", "197 entries"),
    "shard_labels_rolled": ("PM708", "moved by one row"),
    "vectors_topics_of_the_test_numbered_anew": ("PM708", "numbered otherwise"),
    "leaf_labels_one_row_off": ("PM708", "moved down by one row"),
    "papers_features_in_another_order": ("PM708", "in the order of `paper_id`"),
    "tokens_of_another_vocabulary": ("PM709", "`vocab_size` in `meta.json` is 64"),
    "tokens_val_is_the_end_of_train": ("PM710", "100% of the passages of `val.bin`"),
    "tokens_val_numbered_by_another_tokenizer": ("PM711", "numbered differently"),
    "wine_weights_of_other_classes": ("PM713", "100.0% of the loss to class `PT`"),
}


def loud(folder, script):
    project = Project(
        folder=folder,
        target=str(SCRIPTS / script),
        argv=["--data", str(folder / "world")],
        data=[folder / "world"],
    )
    return [f for f in survey(project, lambda _line: None).findings if f.severity is not Severity.INFO]


@pytest.mark.parametrize("name", NAMED)
def test_the_bad_world_is_named(name, tmp_path):
    case, (code, words) = ALL[name], NAMED[name]
    assert not case.closed
    case.build(tmp_path / "world", bad=True)
    found = [finding for finding in loud(tmp_path, case.script) if finding.code == code]
    assert found
    assert words in found[0].message


@pytest.mark.parametrize("script", sorted({ALL[name].script for name in NAMED}))
def test_its_good_world_is_not_accused(script, tmp_path):
    case = next(case for case in ALL.values() if case.script == script)
    case.build(tmp_path / "world", bad=False)
    assert loud(tmp_path, script) == []


# --- what differs by nature ------------------------------------------------------------------


def rng():
    return np.random.default_rng(5)


def test_a_part_in_pounds_is_found_and_a_heavier_part_is_not():
    parts = [rng().normal(75, 12, 300) + shift for shift in (0, 0.5, -0.5, 0.2, 0.1)]
    assert units.odd_parts([*parts, 2.20462 * parts[0]]).how == "pounds and kilograms"
    assert units.odd_parts([*parts, parts[0] + 60]) is None
    assert units.odd_parts([*parts, 1.4 * parts[0]]) is None


def test_a_column_that_grows_is_in_one_unit():
    years = np.exp(np.linspace(0, 7, 2400)) * rng().lognormal(0, 0.05, 2400)
    assert units.odd_parts(np.array_split(years, 24)) is None
    assert units.odd_parts(np.array_split(np.arange(2400.0), 24)) is None


def test_groups_that_differ_by_nature_are_in_one_unit():
    prices = [rng().lognormal(np.log(size), 0.3, 200) for size in (3, 8, 21, 55, 140, 420)]
    assert units.odd_parts(prices) is None


def in_two_heaps(values):
    rows = units.heaps(values)
    return None if rows is None else units.odd_parts([values[each] for each in rows])


def test_two_heaps_are_one_unit_unless_a_conversion_joins_them():
    heap = rng().normal(2500, 200, 600)
    assert in_two_heaps(np.concatenate([heap, heap[:150] * 12])).how.startswith("12 times")
    assert in_two_heaps(np.concatenate([heap, heap[:150] * 7.1])) is None
    assert in_two_heaps(rng().uniform(0, 1, 3000)) is None
    assert in_two_heaps(rng().lognormal(0, 2, 3000)) is None


def test_rows_that_differ_in_other_columns_too_are_another_group():
    """The poor districts of a town have twelve times the crime, and worse air as well."""
    crime, air = rng().lognormal(-2, 0.4, 600), rng().normal(0.5, 0.05, 600)
    rows = np.array_split(np.arange(600), 6)
    districts = [*(crime[each] for each in rows), crime[:120] * 12]
    alike = [*(air[each] for each in rows), air[:120]]
    assert "12 times" in units.odd_parts(districts, [alike]).how
    assert units.odd_parts(districts, [[*alike[:-1], air[:120] + 0.2]]) is None


def test_two_random_splits_of_a_skewed_column_are_in_one_unit():
    for seed in range(40):
        skewed = np.random.default_rng(seed).lognormal(0, 2, 200)
        assert units.odd_parts([skewed[:160], skewed[160:]]) is None


def test_columns_that_overlap_are_not_exchanged():
    a, b = rng().normal(0, 1, (2, 1000))
    assert list(laws.exchanged({"a": a, "b": b})) == []
    high, low = 130 + 10 * a, 80 + 8 * b
    assert list(laws.exchanged({"a": high, "b": low})) == []
    swapped = np.arange(1000) % 5 == 0
    mixed = {"a": np.where(swapped, low, high), "b": np.where(swapped, high, low)}
    assert [found.rows for found in laws.exchanged(mixed)] == [200]


def test_a_law_that_adds_nothing_is_none():
    base = np.round(rng().normal(50, 9, 1000), 2)
    extra = np.where(rng().random(1000) < 0.1, np.round(rng().gamma(2, 3, 1000), 2), 0.0)
    other = np.round(rng().normal(5, 1, 1000), 2)
    assert list(laws.broken({"total": base, "base": base, "extra": extra, "other": other})) == []
    total = np.round(base + other, 2)
    total[700:] = np.roll(total[700:], 1)
    (found,) = laws.broken({"sum": total, "base": base, "other": other})
    assert found.begin == 700
    assert {found.column, *found.law.split()} >= {"sum", "base", "other"}


def test_a_sensor_that_hangs_and_a_day_without_rain():
    level = rng().normal(10, 2, 1000)
    assert order.still(level) is None
    level[400:500] = level[399]
    assert order.still(level).length == 101
    rain = np.where(rng().random(1000) < 0.8, 0.0, rng().gamma(2, 3, 1000))
    rain[300:360] = 0.0
    assert order.still(rain) is None


def test_a_passage_and_a_rhythm():
    values = np.round(rng().normal(10, 2, 2000), 2)
    assert order.again(values) is None
    values[1200:1500] = values[200:500]
    assert (order.again(values).first, order.again(values).second) == (200, 1200)
    assert order.again(np.round(np.sin(np.arange(2400) * 2 * np.pi / 24), 3)) is None


def test_a_part_of_another_kind_has_rules_of_its_own():
    """Taxis of another colour: other classes are frequent there, and follow the rows in another way."""
    draws = rng()
    rows = [draws.normal(0, 1, (300, 4)) for _ in range(8)]
    labels = [(x[:, 0] + x[:, 1] > 0).astype(int) for x in rows]
    assert follows.unfollowed(rows, labels) is None
    other = [(x[:, 2] > 0).astype(int) for x in rows[6:]]
    assert follows.unfollowed(rows, [*labels[:6], *other]) is None
    shuffled = [np.random.default_rng(at).permutation(labels[at]) for at in (6, 7)]
    assert follows.unfollowed(rows, [*labels[:6], *shuffled]).parts == (6, 7)
    moved = [*labels[:6], np.roll(labels[6], 1), np.roll(labels[7], 1)]
    found = follows.unfollowed(rows, moved)
    assert (found.parts, found.how) == ((6, 7), "moved by one row (-1)")
