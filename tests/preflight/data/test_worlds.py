"""Worlds of bench/worlds as files: the bad one is named by the check of its kind, the good one is not accused."""

import pytest

from bench.worlds.cases import ALL
from premortem.findings import Severity
from premortem.preflight.data import survey
from premortem.preflight.project import Project

NAMED = {
    "csv_minus_9999": ("PM674", "`height` is -9999 in"),
    "jsonl_999999": ("PM674", "`rain` is 999999 in"),
    "csv_join_left_default": ("PM679", "`height` is 250 in all 1,300 rows of `train.csv`"),
    "parquet_valid_in_inches": ("PM675", "`rain` is"),
    "csv_class_gone": ("PM676", "`kind` is `cedar`"),
    "h5_sentinel": ("PM674", "`train.h5[x]`"),
    "npz_class_gone": ("PM676", "in no row of `train.npz[y]`"),
    "png_val_bgr": ("PM675", "`channel 0` and `channel 2` have changed places"),
    "zip_val_dark": ("PM675", "`channel 0` is"),
    "zip_class_gone": ("PM676", "`folder` is `wood`"),
    "zip_val_is_train": ("PM663", "120 of 120 samples of `val.zip`"),
    "zip_stats_of_raw_frames": ("PM678", "`stats.json` has mean 9120"),
    "shards_one_in_volts": ("PM675", "`part-2.npy`"),
}


def loud(folder):
    found = survey(Project(folder=folder, data=[folder / "world"]), lambda _line: None).findings
    return [finding for finding in found if finding.severity is not Severity.INFO]


@pytest.mark.parametrize("name", NAMED)
def test_the_bad_world_is_named_and_the_good_one_is_not(name, tmp_path):
    case, (code, words) = ALL[name], NAMED[name]
    good, bad = tmp_path / "good", tmp_path / "bad"
    case.build(good / "world", bad=False)
    case.build(bad / "world", bad=True)
    assert loud(good) == []
    found = loud(bad)
    assert [finding.code for finding in found] == [code]
    assert words in found[0].message


def test_a_column_that_the_script_does_not_use_is_left_alone(tmp_path):
    world = tmp_path / "world"
    case = ALL["csv_minus_9999"]
    case.build(world, bad=True)
    script = tmp_path / "train.py"
    script.write_text('import csv\nCOLUMNS = ["slope", "rain", "age", "wind", "yield"]\n')
    project = Project(folder=tmp_path, target="train.py", data=[world])
    assert [f.code for f in survey(project, lambda _line: None).findings] == []


def test_about_half_of_the_cases_are_closed():
    closed = sum(case.closed for case in ALL.values())
    assert len(ALL) >= 50
    assert 0.4 * len(ALL) < closed < 0.6 * len(ALL)
