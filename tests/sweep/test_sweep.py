"""`premortem sweep`: trials in, root causes and the settings that go with them out."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from premortem.cli import main
from premortem.command_line import arguments
from premortem.events import OptimizerBuilt, StepStats
from premortem.findings import Certainty, Finding, Severity, Where
from premortem.journal import Journal
from premortem.run.opening import sweep_settings
from premortem.sweep.groups import groups, hours, summed_up
from premortem.sweep.page import lines
from premortem.sweep.settings_with import goes_with
from premortem.sweep.trial import Trial, value

BOOM = Finding(
    code="PM213",
    name="updates-too-large",
    family="lr",
    severity=Severity.ERROR,
    certainty=Certainty.MEASURED,
    step=200,
    message="the loss is not finite any more",
    remedy="Divide the learning rate by ten.",
    where=Where(file="train.py", line=12),
)
DEAD = replace(BOOM, code="PM242", name="dead-units", family="init-saturation", where=Where(module="net"))
BROKEN = replace(BOOM, code="PM442", name="non-finite-training", family="numerics-nan")
LOST = replace(BOOM, code="PM103", name="parameter-not-in-optimizer", family="optimizer-ownership")


def trial(number: int, finding: Finding | None = None, **given: object) -> Trial:
    found = (replace(finding, step=200 + number),) if finding is not None else ()
    state = "stopped" if found else "finished"
    return Trial(
        str(number), str(number), {k: value(v) for k, v in given.items()}, state, found, seconds=60.0
    )


def test_a_threshold_of_a_number_is_found():
    trials = [trial(n, BOOM if n >= 26 else None, lr=0.001 * 1.13**n, seed=(7 * n) % 40) for n in range(40)]
    (group,) = groups(trials)
    assert group.split is not None
    assert (group.split.setting, group.split.relation, group.split.inside) == ("lr", "≥", 14)
    assert (group.split.hit, group.split.missed) == (14, 0)
    assert group.split.sentence.startswith("all 14 trials with lr ≥ ")
    assert group.steps == (226, 239)


def test_a_value_of_a_name_is_found_with_an_exception():
    kinds = ["adam", "sgd", "lion"]
    trials = [trial(n, BOOM if n % 3 == 2 and n != 5 else None, optimizer=kinds[n % 3]) for n in range(30)]
    (group,) = groups(trials)
    assert group.split is not None
    assert (group.split.condition, group.split.hit, group.split.inside) == ("optimizer = lion", 9, 10)


def test_one_bug_of_all_trials_is_one_group_and_no_setting():
    trials = [trial(n, LOST, lr=0.1 * n) for n in range(12)]
    (group,) = groups(trials)
    assert group.everywhere
    assert group.one_place
    assert group.split is None


def test_two_causes_are_two_groups_the_larger_first():
    bad = [BOOM if n < 6 else LOST if n < 9 else None for n in range(20)]
    found = groups([trial(n, each, lr=n) for n, each in enumerate(bad)])
    assert [(group.finding.code, len(group.trials)) for group in found] == [("PM213", 6), ("PM103", 3)]


def test_one_rate_that_is_too_high_is_one_cause_however_it_shows():
    """Dead units and weights that are no numbers are what too large updates lead to."""
    shown = {14: DEAD, 16: BROKEN, 17: DEAD}
    trials = [trial(n, shown.get(n, BOOM) if n >= 12 else None, lr=n) for n in range(20)]
    (group,) = groups(trials)
    assert (group.finding.code, len(group.trials), group.steps) == ("PM213", 8, (212, 219))
    assert group.otherwise == {"PM242 dead-units": 2, "PM442 non-finite-training": 1}
    assert group.split.sentence == "all 8 trials with lr ≥ 12, and none of the 12 others"


def test_what_might_follow_is_its_own_cause_where_the_settings_say_otherwise():
    """Units that die at the lowest rates did not die of a high one."""
    trials = [trial(n, BOOM if n >= 12 else DEAD if n < 3 else None, lr=n) for n in range(20)]
    found = groups(trials)
    assert [(group.finding.code, len(group.trials)) for group in found] == [("PM213", 8), ("PM242", 3)]
    assert [group.split.condition for group in found] == ["lr ≥ 12", "lr ≤ 2"]


def test_all_trials_fail_of_one_cause_that_shows_in_two_ways():
    (group,) = groups([trial(n, BROKEN if n % 4 == 1 else BOOM, lr=n % 3) for n in range(12)])
    assert group.everywhere


def test_a_warning_is_told_of_all_trials_that_have_it():
    """Also of those that failed of something else; they stay what they are."""
    kinds = ["plain", "gated", "deep"]
    trials = [trial(n, BOOM if n >= 24 else None, lr=n, head=kinds[n % 3]) for n in range(30)]
    forgotten = replace(LOST, severity=Severity.WARNING)
    trials = [
        replace(each, findings=(*each.findings, forgotten)) if each.settings["head"] == "gated" else each
        for each in trials
    ]
    boom, lost = groups(trials)
    assert (boom.failed, lost.failed, len(boom.trials), len(lost.trials)) == (True, False, 6, 10)
    assert lost.split.sentence == "all 10 trials with head = gated, and none of the 20 others"
    assert (
        next(iter(lines(summed_up(trials), "."))) == "30 trials in .: 16 healthy, 8 with warnings, 6 failed"
    )


def test_of_two_settings_that_part_the_trials_alike_the_simpler_one_is_named():
    trials = [trial(n, BOOM if n < 2 else None, lr=n, head="gated" if n < 2 else "plain") for n in range(12)]
    (group,) = groups(trials)
    assert group.split.condition == "head = gated"


@pytest.mark.parametrize(
    ("rates", "condition"),
    [
        ([0.0011, 0.0292, 0.106579, 0.147366, 0.7], "lr ≥ 0.14"),
        ([0.001, 0.002, 0.01, 0.03, 0.1], "lr ≥ 0.03"),
        ([-5.5, -4.0, -1.25, -1.2345, 0.0], "lr ≥ -1.24"),
    ],
)
def test_a_bound_has_no_more_digits_than_part_the_trials(rates, condition):
    trials = [
        trial(10 * k + n, BOOM if n >= 3 else None, lr=r) for k in range(4) for n, r in enumerate(rates)
    ]
    (group,) = groups(trials)
    assert group.split.condition == condition


def test_failures_dealt_out_at_random_hardly_ever_go_with_a_setting():
    random_ones = random.Random(1)
    wrong = 0
    for _ in range(60):
        failed = set(random_ones.sample(range(24), 8))
        trials = [
            trial(
                n,
                BOOM if n in failed else None,
                lr=random_ones.random(),
                width=random_ones.randrange(4),
                a=n % 2,
            )
            for n in range(24)
        ]
        split = groups(trials)[0].split
        wrong += split is not None and split.sure
    assert wrong <= 4  # one in a hundred is expected


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1), st.sampled_from("abc")), min_size=2, max_size=12))
def test_the_counts_of_a_split_are_those_of_the_trials(rows):
    trials = [trial(n, BOOM if bad else None, x=x, kind=kind) for n, (bad, x, kind) in enumerate(rows)]
    failed = [each for each in trials if each.failed]
    others = [each for each in trials if not each.failed]
    split = goes_with(failed, others) if failed else None
    if split is None:
        return
    holds = {
        "≥": lambda each: each >= split.bound,
        "≤": lambda each: each <= split.bound,
        "=": lambda each: each == split.bound,
    }[split.relation]
    inside = [each for each in trials if holds(each.settings[split.setting])]
    assert (split.inside, split.outside) == (len(inside), len(trials) - len(inside))
    assert split.hit == sum(each.failed for each in inside)
    assert split.missed == len(failed) - split.hit


def test_what_half_of_all_sweeps_would_show_is_no_hint():
    assert goes_with([trial(0, BOOM, lr=9.0)], [trial(1, lr=0.1)]) is None
    failed, others = (
        [trial(n, BOOM, lr=9.0 + n) for n in range(2)],
        [trial(n + 2, lr=0.1 + n) for n in range(4)],
    )
    assert goes_with(failed, others).sentence == (
        "both trials with lr ≥ 9, and none of the 4 others; chance alone does that in 13% of such sweeps"
    )


def test_hours_lost_and_saved():
    whole = [replace(trial(n), seconds=3600.0) for n in range(3)]
    late = replace(trial(3, BOOM), state="finished", seconds=3600.0, broken_after=900.0)
    early = replace(trial(4, BOOM), seconds=600.0, broken_after=600.0)
    found = hours([*whole, late, early])
    assert found.lost == pytest.approx(0.75)
    assert found.saved == pytest.approx(3000 / 3600)
    assert found.ended_early == 1


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["train.py", "--lr", "0.1", "--fast"], {"--lr": "0.1", "--fast": "given"}),
        (["train.py", "--shift", "-3", "--lr=0.1"], {"--shift": "-3", "--lr": "0.1"}),
        (["-m", "train", "model.width=64", "+seed=1"], {"model.width": "64", "seed": "1"}),
        (["train.py", "data.csv", "a/b=c d"], {"argument 1": "data.csv", "a/b": "c d"}),
    ],
)
def test_what_a_script_was_given(argv, expected):
    assert arguments(argv) == expected


# --- as a person calls it ------------------------------------------------------------------------


@pytest.fixture
def swept(tmp_path, monkeypatch):
    """A folder of 12 runs, 5 of them broken: all with a rate of 0.03 and more."""
    monkeypatch.chdir(tmp_path)
    rates = [0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.03, 0.04, 0.05, 0.06, 0.07]
    for number, rate in enumerate(rates):
        kept(tmp_path / ".premortem" / "runs" / f"run-{number}", rate, BOOM if rate >= 0.03 else None)
    return tmp_path


def kept(folder: Path, rate: float, finding: Finding | None, **meta: object) -> None:
    journal = Journal.open(
        folder,
        meta={
            "argv": ["train.py", "--lr", str(rate), "--epochs", "3"],
            "started": "2026-01-01T00:00:00+00:00",
            "ended": "2026-01-01T01:00:00+00:00",
            "seconds": 3600.0,
            "reason": "finished",
            "steps": 300,
            **meta,
        },
        on_problem=pytest.fail,
    )
    journal.event(OptimizerBuilt(optimizer=1, kind="SGD", groups=((rate, 0.0, 0.0),)))
    journal.step(StepStats(step=300, optimizer=1, loss=1.0, grad_norm=1.0, worst=None, lr=rate), 1000.0)
    if finding is not None:
        journal.finding(finding)
    journal.close()


def test_the_page(swept, capsys):
    assert main(["sweep"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("12 trials in .premortem/runs: 7 healthy, 5 failed\n")
    sentence = "all 5 trials with lr ≥ 0.03, and none of the 7 others: PM213 updates-too-large at step 200"
    assert f"1. {sentence}, at the same line\n" in text
    assert "where  train.py:12\n" in text
    assert "with  " not in text, "it is in the sentence"


def test_as_json(swept, capsys):
    assert main(["sweep", "--format", "json", str(swept)]) == 1
    record = json.loads(capsys.readouterr().out)
    assert len(record["trials"]) == 12
    assert record["trials"][0]["settings"]["lr"] == 0.001
    (group,) = record["groups"]
    assert group["finding"]["code"] == "PM213"
    assert group["goes_with"]["condition"] == "lr ≥ 0.03"
    assert group["goes_with"]["others_failed"] == 0


def test_a_healthy_sweep(tmp_path, capsys):
    for number in range(3):
        kept(tmp_path / f"trial-{number}", 0.1, None)
    assert main(["sweep", str(tmp_path)]) == 0
    assert "3 trials" in capsys.readouterr().out


def test_what_the_sweep_itself_says_it_set_goes_first(tmp_path, capsys):
    kept(tmp_path / "a", 0.1, None, trial="study-0", settings={"optimizer": {"lr": 0.2}})
    main(["sweep", "--format", "json", str(tmp_path)])
    (only,) = json.loads(capsys.readouterr().out)["trials"]
    assert only["name"] == "study-0"
    assert only["settings"]["optimizer.lr"] == 0.2


def test_children_of_a_run_that_trained_are_trials(tmp_path, capsys):
    """`premortem run` in front of an agent that starts the trials."""
    Journal.open(
        tmp_path / "run", meta={"argv": ["agent.py"], "reason": "finished"}, on_problem=pytest.fail
    ).close()
    for number in (1, 2):
        kept(tmp_path / "run" / f"child-{number}", 0.1 * number, BOOM if number == 2 else None)
    assert main(["sweep", "--format", "json", str(tmp_path)]) == 1
    record = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in record["trials"]] == ["child-1", "child-2"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere"], "there is no folder `nowhere`"),
        (["."], "there is no run of premortem's below"),
        (["s3://bucket/runs"], "to list a shelf: premortem ui s3://bucket/runs"),
        (["--format", "xml"], "there is no format `xml`"),
    ],
)
def test_wrong_calls(words, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *words]) == 2
    assert sentence in capsys.readouterr().err.replace("\n", " ")


def test_a_journal_that_cannot_be_read_is_named(tmp_path, capsys):
    kept(tmp_path / "good", 0.1, None)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "journal.sqlite").write_bytes(b"not a database, but long enough to be one" * 40)
    assert main(["sweep", str(tmp_path)]) == 2, "whether that trial has failed is not known"
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("2 trials in")
    assert first.endswith(": 1 healthy, 1 not read")
    (named,) = (line for line in others if line.startswith("not read: "))
    assert "bad" in named
    assert main(["sweep", "--format", "json", str(tmp_path)]) == 2
    record = json.loads(capsys.readouterr().out)
    assert (len(record["trials"]), len(record["unread"])) == (1, 1)

    kept(tmp_path / "failed", 0.1, BOOM)
    assert main(["sweep", str(tmp_path)]) == 1
    assert ": 1 healthy, 1 failed, 1 not read\n" in capsys.readouterr().out


def test_what_an_agent_of_wandb_has_chosen_is_a_setting(tmp_path):
    """As wandb 0.31 writes it for the command of an agent."""
    chosen = tmp_path / "config-abc.yaml"
    chosen.write_text("wandb_version: 1\n\nlr:\n  value: 0.1\nopt:\n  value:\n    name: adam\n")
    environ = {"WANDB_SWEEP_PARAM_PATH": str(chosen), "SLURM_ARRAY_TASK_ID": "3"}
    assert sweep_settings(environ) == {"SLURM_ARRAY_TASK_ID": "3", "lr": 0.1, "opt": {"name": "adam"}}
    chosen.write_text("lr: [")
    assert sweep_settings({"WANDB_SWEEP_PARAM_PATH": str(chosen)}) == {}
    assert sweep_settings({"WANDB_SWEEP_PARAM_PATH": str(tmp_path / "none.yaml")}) == {}
