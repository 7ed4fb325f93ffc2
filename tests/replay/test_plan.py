"""The plan of a replay, without a script: each trial is answered by a rule."""

from collections import namedtuple

import pytest
import torch

from premortem import changes
from premortem.changes.batches import keep_rows, rows
from premortem.changes.loss_terms import Term
from premortem.replay.batch_format import kinds, pack, unpack
from premortem.replay.plan import Plan
from premortem.replay.trial import Result, Trial

NAN = {"value": "nan", "dtype": "torch.float32", "bits": "7fc00000"}
GOOD = {"value": 0.5, "dtype": "torch.float32", "bits": "3f000000"}


def manifest(**facts):
    record = {
        "reason": "gradient",
        "losses": [NAN],
        "steps": 7,
        "gradients": "g",
        "draws": [{}],
        "device": "cpu",
    }
    record |= {"optimizer": 0, "optimizers": [{"groups": [{"eps": 0.0}]}]}
    return {**record, **facts}


def played(rule, samples=16, options=None, **facts):
    """The plan, answered by `rule(trial)`: whether the failure is there."""
    plan = Plan(manifest(**facts), options or {})
    while plan.trial is not None:
        assert len(plan.report.results) < 100
        trial = plan.trial
        answer = rule(trial)
        if isinstance(answer, bool):
            answer = Result(trial, losses=[NAN if answer else GOOD], gradients="g" if answer else "h")
        answer.samples = samples
        plan.heard(answer)
    return plan.report


def kept(trial):
    """The samples that are left; none where all of them are."""
    return set(trial.settings.get("kept", ()))


@pytest.mark.parametrize("bad", [[0], [15], [3, 12], [1, 2, 3]])
def test_bad_samples_are_found_and_taken_out(bad):
    report = played(lambda trial: not kept(trial) or bool(kept(trial) & set(bad)))
    assert report.reproduced
    assert report.bitwise
    assert report.smallest.evidence == {"samples": bad, "of": 16}


def test_two_samples_that_fail_only_together():
    report = played(lambda trial: not kept(trial) or {2, 13} <= kept(trial))
    samples = next(o for o in report.outcomes if "sample" in o.title)
    assert samples.gone is False  # half of the batch is no small set: nothing is claimed


def test_a_fault_of_the_model_is_not_blamed_on_samples():
    report = played(lambda trial: trial.change != "float64")
    assert [o.title for o in report.outcomes if o.gone] == ["float64"]
    assert report.smallest.title == "float64"


def test_the_smallest_change_is_named():
    terms = [Term(0, "fit", "t.py", 3, 0.5, True, True), Term(1, "kl", "t.py", 3, "nan", False, None)]

    def rule(trial: Trial):
        if trial.terms:
            return Result(trial, losses=[NAN], gradients="g", terms=terms)
        return trial.settings != {"index": 1} and trial.change != "float64"

    report = played(rule)
    assert report.smallest.title == "without the loss term `kl`"


def test_a_plan_goes_on_where_an_earlier_launch_ended():
    def rule(trial):
        return not kept(trial) or 5 in kept(trial)

    whole = played(rule)
    for cut in range(len(whole.results)):
        plan = Plan(manifest(), {}, whole.results[:cut])
        assert plan.trial == whole.results[cut].trial


def test_what_depends_on_the_place_in_the_loop_is_replayed_there():
    report = played(lambda trial: trial.launch.get("position") == 7)
    assert report.at_its_place
    assert report.reproduced
    assert all(result.trial.launch["position"] == 7 for result in report.results[1:])


def certified(stage):
    return {"stage": stage, "op": "" if stage == "data" else "div"}


def test_what_came_in_with_the_data_is_looked_for_in_the_whole_script():
    def rule(trial):
        stage = "forward" if trial.launch.get("whole") else "data"
        return Result(
            trial, losses=[NAN], gradients="g", certificate=certified(stage) if trial.microscope else None
        )

    report = played(rule)
    whole = [result.trial for result in report.results if result.trial.launch.get("whole")]
    assert [(trial.microscope, trial.launch["position"]) for trial in whole] == [(True, 7)]
    assert report.certificate == certified("forward")


def test_what_the_whole_script_does_not_make_stays_data():
    report = played(
        lambda trial: Result(
            trial, losses=[NAN], gradients="g", certificate=certified("data") if trial.microscope else None
        )
    )
    assert report.certificate == certified("data")
    assert played(lambda _: True, steps=2001).certificate is None  # too far


def test_an_operation_that_was_seen_is_not_looked_for_again():
    report = played(lambda t: Result(t, losses=[NAN], gradients="g", certificate=certified("forward")))
    assert not any("whole" in result.trial.launch for result in report.results)


def test_a_step_that_agrees_but_does_not_fail_is_taken_to_its_place():
    def rule(trial):
        there = "position" in trial.launch
        return Result(trial, losses=[GOOD], gradients="g", bad_update=["w"] if there else [])

    report = played(rule, reason="update", losses=[GOOD])
    assert report.at_its_place
    assert report.reproduced


def test_a_broken_buffer_must_have_the_same_bits():
    def report(bits):
        return played(
            lambda t: Result(t, losses=[GOOD], gradients="g", bad_buffer=True, buffer=bits),
            losses=[GOOD],
            reason="buffer",
            buffer={"name": "model/0/bn.running_var", "bits": "b"},
        )

    assert report("b").bitwise
    assert report("b").failure == "buffer"
    assert not report("c").bitwise


def test_a_quick_replay_tries_no_changes():
    report = played(lambda _trial: True, options={"quick": True})
    assert report.reproduced
    assert report.outcomes == []


def test_a_step_that_does_not_fail_again_is_not_reproduced():
    report = played(lambda _trial: False)
    assert not report.reproduced
    assert report.outcomes == []


def test_a_trial_that_breaks_the_script_is_said_to_be_untried():
    def rule(trial):
        return Result(trial, error="RuntimeError: dtype") if trial.change == "float64" else True

    report = played(rule)
    outcome = next(o for o in report.outcomes if o.title == "float64")
    assert outcome.gone is None
    assert "RuntimeError: dtype" in outcome.tells


def test_rate_and_clipping_are_only_tried_on_updates():
    titles = [o.title for o in played(lambda _trial: True).outcomes]
    assert "gradients clipped to norm 1" not in titles

    def rule(trial):
        bad = [] if trial.change == "clipped-to-one" else ["w"]
        return Result(trial, losses=[GOOD], gradients="g", bad_update=bad)

    report = played(rule, reason="update", losses=[GOOD])
    assert report.failure == "update"
    assert report.smallest.title == "gradients clipped to norm 1"
    assert all(result.trial.apply for result in report.results)


def test_eager_is_a_launch_of_its_own():
    report = played(lambda trial: not trial.launch.get("eager"), compiled=True)
    assert report.smallest.title == "eager instead of compiled"


def test_results_survive_json():
    for result in played(lambda _trial: True).results:
        assert Result.from_json(result.to_json()) == result


def test_sizes_are_distinct():
    sizes = [cls.one_step.size for cls in changes.of("one_step").values()]
    assert len(set(sizes)) == len(sizes)


# --- batches ---------------------------------------------------------------------------------

Pair = namedtuple("Pair", "x y")  # noqa: PYI024 - as users write it


class Encoding(dict):
    """A mapping of somebody's, with methods that the script calls."""


@pytest.mark.parametrize(
    "batch",
    [
        [torch.rand(4, 2), torch.arange(4)],
        (
            torch.rand(4),
            {"mask": torch.ones(4, dtype=torch.bool), "name": ["a", "b", "c", "d"], "scale": 0.1},
        ),
        Pair(torch.rand(4), torch.rand(4)),
        Encoding(ids=torch.arange(4), kind=None),
        torch.rand(4, 3, dtype=torch.bfloat16),
    ],
    ids=lambda batch: type(batch).__name__,
)
def test_a_batch_is_the_same_after_packing(batch):
    tensors = {}
    node = pack(batch, "batch/0", tensors)
    again = unpack(node, tensors, batch)
    assert type(again) is type(batch)
    assert str(again) == str(batch)
    assert rows(batch) == 4


def test_a_stranger_is_put_together_by_a_template():
    class Graph:
        def __init__(self, x):
            self.x, self.hook = x, print

    tensors = {}
    node = pack(Graph(torch.ones(3)), "b", tensors)
    assert kinds(node) == {"object", "tensor", "lost"}
    again = unpack(node, tensors, Graph(torch.zeros(3)))
    assert isinstance(again, Graph)
    assert torch.equal(again.x, torch.ones(3))
    assert again.hook is print


def test_a_sample_that_is_left_out_is_replaced_by_one_that_stays():
    batch = {"x": torch.arange(4), "name": ["a", "b", "c", "d"], "all": torch.tensor(7)}
    few = keep_rows(batch, 4, [1, 3])
    assert few["x"].tolist() == [1, 1, 1, 3]
    assert few["name"] == ["b", "b", "b", "d"]
    assert few["all"] == 7
