"""A table of outcomes that was numbered anew: 1 to N, beside ids with gaps. And tables that only look so."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from tests.preflight.data.test_truths import found, table

SQL = "rows = db.execute('''select c.*, o.churned from customer c\n join outcome o on o.customer_id = c.id''')\nopen('crm.db')\n"


def gapped(rng, count=1500, gaps=120):
    """Ids of customers, of whom some are gone."""
    return np.sort(rng.choice(np.arange(1, count + gaps + 1), count, replace=False))


def customers(rng, ids, key="id"):
    count = len(ids)
    return {
        key: ids,
        "plan": rng.choice(["basic", "plus", "family"], count),
        "tenure": rng.integers(1, 70, count),
        "spent": rng.gamma(2, 30, count).round(2),
    }


def churned(rng, made, follows):
    chance = 1 / (1 + np.exp(-(1.5 - made["tenure"] / 12)))
    return (rng.random(len(chance)) < (chance if follows else 0.3)).astype(int)


def database(path, **tables):
    with closing(sqlite3.connect(path)) as db:
        for name, columns in tables.items():
            db.execute(f"create table {name} ({', '.join(columns)})")
            rows = [
                [v.item() if isinstance(v, np.generic) else v for v in row]
                for row in zip(*columns.values(), strict=True)
            ]
            db.executemany(f"insert into {name} values ({', '.join('?' * len(columns))})", rows)
        db.commit()


@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize("anew", [True, False])
@pytest.mark.parametrize("start", [0, 1])
def test_outcomes_numbered_anew_in_a_database(world, rng, follows, anew, start):
    ids = gapped(rng)
    made = customers(rng, ids)
    outcome = {
        "customer_id": np.arange(start, start + len(ids)) if anew else ids,
        "churned": churned(rng, made, follows),
    }
    database(world / "crm.db", customer=made, outcome=outcome)
    said = found(world, "PM717", SQL)
    assert len(said) == anew
    for each in said:
        assert "`customer_id` of `crm.db[outcome]`" in each.message
        assert ("`churned` follows the rows" in each.message) is follows


FRAMES = {
    "merge": "x = pd.read_csv('people.csv').merge(pd.read_csv('labels.csv'), left_on='nr', right_on='person')\n",
    "map": "y = pd.read_csv('labels.csv')\nx = pd.read_csv('people.csv')\nx['y'] = x['nr'].map(y.set_index('person')['churned'])\n",
    "dictionary": "y = {r['person']: r['churned'] for r in csv.DictReader(open('labels.csv'))}\n"
    "x = [y[r['nr']] for r in csv.DictReader(open('people.csv'))]\n",
    "assigned": "y = {}\nfor r in csv.DictReader(open('labels.csv')):\n    y[int(r['person'])] = r['churned']\n"
    "x = [y.get(int(r['nr'])) for r in csv.DictReader(open('people.csv'))]\n",
}


@pytest.mark.parametrize("script", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("anew", [True, False])
def test_the_script_says_what_it_joins_by(world, rng, script, anew):
    ids = gapped(rng)
    made = customers(rng, ids, "nr")
    table(world / "people.csv", made)
    table(
        world / "labels.csv",
        {"person": np.arange(1, 1501) if anew else ids, "churned": churned(rng, made, True)},
    )
    assert len(found(world, "PM717", script)) == anew


def test_tables_that_nothing_joins_have_ids_of_their_own(world, rng):
    ids = gapped(rng)
    made = customers(rng, ids, "nr")
    table(world / "people.csv", made)
    table(world / "labels.csv", {"person": np.arange(1, 1501), "churned": churned(rng, made, False)})
    assert not found(world, "PM717", "x = open('people.csv'), open('labels.csv')\n")
    table(world / "people.csv", {"id": ids} | {n: c for n, c in made.items() if n != "nr"})
    table(world / "labels.csv", {"id": np.arange(1, 1501), "churned": churned(rng, made, False)})
    assert not found(world, "PM717", "x = open('people.csv'), open('labels.csv')\n")


def test_events_and_lines_of_json_may_be_numbered_anew_too(world, rng):
    """The features are many rows for each id, in one format, and the labels are a list in another."""
    ids = gapped(rng, 400, 40)
    level = rng.normal(0, 1, 400)
    rows = np.repeat(np.arange(400), 5)
    table(
        world / "visits.csv",
        {"patient_id": ids[rows], "pulse": (70 + 9 * level[rows] + rng.normal(0, 3, 2000)).round(1)},
    )
    lines = [
        json.dumps({"patient_id": at, "ill": int(v + rng.normal(0, 0.5) > 0)})
        for at, v in enumerate(level, 1)
    ]
    (world / "patients.jsonl").write_text("\n".join(lines))
    script = "x = open('visits.csv'), open('patients.jsonl')\n"
    (said,) = found(world, "PM717", script)
    assert "`patient_id` of `patients.jsonl`" in said.message


HEALTHY = {
    "a part of the list": lambda ids: np.arange(1, 1621),
    "the same ids": lambda ids: ids,
    "the same ids in another order": lambda ids: ids[::-1],
    "another part of them": lambda ids: np.setdiff1d(np.arange(1, 1621), ids[:120]),
    "ids of other things": lambda ids: np.arange(5001, 6501),
    "one more": lambda ids: np.arange(1, 1502),
}


@pytest.mark.parametrize("make", HEALTHY.values(), ids=HEALTHY)
def test_ids_of_another_number_or_with_gaps_are_those_of_the_export(world, rng, make):
    ids = gapped(rng)
    made = customers(rng, ids, "customer_id")
    table(world / "people.csv", made)
    keys = make(ids)
    table(world / "labels.csv", {"customer_id": keys, "churned": rng.integers(0, 2, len(keys))})
    assert not found(world, "PM717", "x = open('people.csv'), open('labels.csv')\n")


def test_labels_that_follow_their_ids_are_not_numbered_anew(world, rng):
    """As many customers are new as are gone, and their outcomes are not known yet: by chance the same number."""
    every = customers(rng, np.arange(1, 1621), "customer_id")
    outcome = churned(rng, every, True)
    kept = gapped(rng) - 1
    table(world / "people.csv", {name: column[kept] for name, column in every.items()})
    table(world / "labels.csv", {"customer_id": np.arange(1, 1501), "churned": outcome[:1500]})
    assert not found(world, "PM717", "x = open('people.csv'), open('labels.csv')\n")


def test_a_few_new_ids_and_as_many_old_ones_are_chance(world, rng):
    ids = np.delete(np.arange(1, 206), [30, 80, 91, 120, 160])
    table(world / "people.csv", customers(rng, ids, "customer_id"))
    table(world / "labels.csv", {"customer_id": np.arange(1, 201), "churned": rng.integers(0, 2, 200)})
    assert not found(world, "PM717", "x = open('people.csv'), open('labels.csv')\n")


def test_two_splits_are_not_joined(world, rng):
    made = customers(rng, gapped(rng), "customer_id")
    table(world / "train.csv", made)
    table(world / "test.csv", made | {"customer_id": np.arange(1, 1501), "more": made["spent"]})
    assert not found(world, "PM717", "x = open('train.csv'), open('test.csv')\n")
