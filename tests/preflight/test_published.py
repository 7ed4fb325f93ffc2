"""bench/tables.py: how a published table becomes worlds, each with a script that is right."""

import csv
import sys

import numpy as np
import pytest

from bench import tables
from tests import starting


@pytest.fixture
def penguins(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "rdatasets-birds-penguins.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("rownames", "island", "year", "mass", "note", "species"))
        for at in range(240):
            island = f"island {rng.integers(12)}"
            mass = "NA" if at % 40 == 0 else round(rng.normal(4000, 500))
            writer.writerow((at, island, 2000 + at // 24, mass, f"seen at {at}", "ab"[at % 2]))
    return tables.published(path)


def test_a_script_uses_what_can_be_used(penguins):
    assert (penguins.numbers, penguins.kinds) == (["year", "mass"], ["island"])
    assert (penguins.label, penguins.classes) == ("species", ["a", "b"])


def test_rows_are_divided_as_the_columns_suggest(penguins):
    found = {how: parts for how, *parts in tables.divisions(penguins)}
    assert "by chance" in found
    assert len(found) == 2
    for how, *parts in (
        *tables.at_a_time(penguins, list(range(240))),
        *tables.by_group(penguins, list(range(240))),
    ):
        column = penguins.columns[how.split()[-1]]
        assert not {column[at] for at in parts[0]} & {column[at] for at in parts[1]}
        assert sorted(parts[0] + parts[1]) == list(range(240))


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
@pytest.mark.parametrize("how", ["one file", "by chance"])
def test_the_script_trains(penguins, tmp_path, kind, how):
    rows = list(range(240))
    script = tables.build(
        penguins, how, (rows, []) if how == "one file" else (rows[:190], rows[190:]), kind, tmp_path
    )
    assert tables.heard(script) == []
    done = starting.run([sys.executable, script, "--epochs", "1"], cwd=tmp_path)
    assert "val_loss" in done.stdout
