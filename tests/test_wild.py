"""The list of bench/wild, the mistakes it plants, the data it makes, and the split that all benches share."""

import ast
import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

from premortem.findings import FAMILIES
from tests import starting

BENCH = Path(__file__).parents[1] / "bench"


def part(name):
    """A file of the bench, which is no package, under a name that no other module has."""
    path = BENCH / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"bench_{name.replace('/', '_')}", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


split, made_data, one_run = part("split"), part("wild/made_data"), part("wild/one_run")
MISTAKES, planted = part("wild/mistakes").MISTAKES, part("wild/mistakes").planted
LISTED = one_run.scripts()
LICENCES = {"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "GPL-3.0", "CC-BY-NC-4.0", "none stated"}
KEYS = {
    "name",
    "repo",
    "commit",
    "licence",
    "file",
    "args",
    "data",
    "edits",
    "stands_in",
    "needs",
    "plant",
    "under",
}

SCRIPT = """
import torch
from torch import nn
import torch.nn.functional as F

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    model.train()
    total = 0.0
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        print(F.cross_entropy(model(x), y))
"""


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.name)
def test_a_mistake_changes_a_script_that_it_applies_to_and_no_other(mistake):
    text = planted(SCRIPT, mistake, "a seed")
    assert text
    assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(SCRIPT))
    assert text == planted(SCRIPT, mistake, "a seed")
    assert planted("print('no training here')\n", mistake, "a seed") == ""


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.name)
def test_each_turn_has_a_place_of_its_own_until_there_is_none(mistake):
    twice = SCRIPT + SCRIPT
    texts = [planted(twice, mistake, "a seed", turn) for turn in range(12)]
    made = [text for text in texts if text]
    assert len(made) >= 2
    assert len(set(made)) == len(made)
    assert not any(texts[len(made) :])


def test_there_are_enough_kinds_and_each_has_a_family():
    assert len(MISTAKES) >= 25
    assert all(one.families and one.families <= set(FAMILIES) for one in MISTAKES)


def test_the_list_is_long_enough_and_of_many_repositories():
    assert len(LISTED) >= 60
    assert len({one["repo"] for one in LISTED}) >= 35
    assert len({one["name"] for one in LISTED}) == len(LISTED)
    halves = {
        half: {one["repo"] for one in LISTED if split.half_of(one["repo"]) == half}
        for half in ("open", "closed")
    }
    assert min(map(len, halves.values())) >= 10


@pytest.mark.parametrize("one", LISTED, ids=lambda one: one["name"])
def test_an_entry_says_all_that_is_needed_to_run_it(one):
    assert set(one) <= KEYS
    assert one["licence"] in LICENCES
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", one["repo"])
    assert re.fullmatch(r"[0-9a-f]{40}", one["commit"])
    assert one["file"].endswith(".py")
    places = [
        one["file"],
        *one.get("needs", ()),
        *one.get("plant", ()),
        *(place for _, place in one.get("data", ())),
    ]
    assert not any(place.startswith("/") or ".." in place for place in places)
    assert all(maker in made_data.MAKERS for maker, _ in one.get("data", ()))
    assert all(len(edit) in (2, 3) and edit[-2] for edit in one.get("edits", ()))


@pytest.mark.parametrize("maker", sorted(made_data.MAKERS))
def test_data_are_the_same_every_time(maker, tmp_path):
    for name in ("first", "second"):
        made_data.MAKERS[maker](tmp_path / name / "made")
    first, second = (
        {p.relative_to(tmp_path / n): p for p in (tmp_path / n).rglob("*") if p.is_file()}
        for n in ("first", "second")
    )
    assert set(first) == set(second)
    assert all(first[name].read_bytes() == second[name].read_bytes() for name in first)


def test_what_stands_in_for_a_missing_module_takes_every_call():
    code = "import wild_stand_ins, torch; import nowhere.deep as n; n.figure(3).plot(1); print(torch.ones(2).cuda().sum())"
    environment = {
        **os.environ,
        "PYTHONPATH": str(BENCH / "wild/stand_ins"),
        "WILD_STANDS_IN": "cuda nowhere",
    }
    said = starting.run([sys.executable, "-c", code], env=environment, check=True)
    assert "2." in said.stdout


def test_our_line_stands_behind_those_of_the_future():
    text = one_run.seeded('"""About."""\nfrom __future__ import annotations\nimport torch\n')
    assert text.splitlines()[2] == one_run.SEEDED.strip()
    compile(text, "x", "exec")


def bare(**facts):
    return {"exit": 0, "output": "a", "weights": "w", "numbers": 3, **facts}


def test_an_effect_is_what_differs_from_two_healthy_runs_that_do_not():
    effect, healthy = one_run.effect, bare()
    assert not effect(bare(), healthy, bare())
    assert effect(bare(output="b"), healthy, bare())
    assert effect(bare(weights="v"), healthy, bare())
    assert not effect(bare(exit=1, output="b"), healthy, bare())
    assert not effect(bare(output="b"), healthy, bare(output="c"))  # it never prints the same
    assert effect(bare(output="b", weights="v"), healthy, bare(output="c"))
    assert effect(bare(output="b", weights="v"), healthy, bare(output="c", weights="u")) is None
    assert not effect(bare(output="b", numbers=0), bare(numbers=0), bare(numbers=0))  # words alone


def test_weights_that_were_trained_are_hashed_at_the_end(tmp_path):
    code = (
        "import wild_stand_ins, torch\n"
        "torch.manual_seed({seed}); model = torch.nn.Linear(2, 1); optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "model(torch.ones(1, 2)).sum().backward(); optimizer.step()\n"
    )
    hashes = []
    for seed in (0, 0, 1):
        trace = tmp_path / "trace"
        environment = {**os.environ, "PYTHONPATH": str(BENCH / "wild/stand_ins"), "WILD_TRACE": str(trace)}
        starting.run([sys.executable, "-c", code.format(seed=seed)], env=environment, check=True)
        hashes.append(trace.read_text())
    assert hashes[0] == hashes[1] != hashes[2]


SUMMARY = """
import summary
run = dict(exit=0, output="a", weights="", numbers=3, cpu=1.0, findings=[], error="")
def mistake(**facts):
    return {**run, "mistake": "no-step", "turn": 0, "effect": True, "found": False, "first": False, "step": None, **facts}
def row(name, repo, *mistakes):
    return dict(name=name, repo=repo, bare=run, again=run, watched=run, planted=list(mistakes))
rows = [
    row("one", "karpathy/nanoGPT", mistake(output="b", found=True, first=True, step=4), mistake(output="c"), mistake(effect=False)),
    row("two", "karpathy/nanoGPT", mistake(exit=1, effect=False)),
]
closed = summary.summed(rows, {})
assert (closed["tried"], closed["planted"], closed["found"], closed["first"]) == (4, 2, 1, 1), closed
result = dict(opened="d", commit="c", listed=2, repositories=1, own=100.0, open=summary.summed([], {}), closed=closed)
lines = summary.page(result).splitlines()
assert "closed half of this exam says 50 %" in lines[2], lines[2]
assert "| no-step |  | 2, 1, 1 |" in lines
"""


def test_a_mistake_without_effect_is_not_counted_and_a_gap_is_said_first():
    environment = {**os.environ, "PYTHONPATH": str(BENCH / "wild")}
    starting.run([sys.executable, "-c", SUMMARY], env=environment, check=True)


def test_the_split_is_by_the_name_alone():
    assert split.is_closed("karpathy/nanoGPT")
    assert split.is_closed("Karpathy/nanogpt")
    assert not split.is_closed("pytorch/examples")
    assert split.points_apart({"open": [9, 10], "closed": [4, 5]}) == pytest.approx(10)
