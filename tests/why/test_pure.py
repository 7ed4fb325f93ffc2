"""The pure middle of `premortem why`: noise, comparison, the tree of questions, the verdict, diffs."""

import math
from dataclasses import replace

import pytest

from premortem import catalog, changes
from premortem.changes import RunDescription
from premortem.why import diffs, questions, sets
from premortem.why.cheating import cheats, only_prints, same_loss
from premortem.why.director import eases
from premortem.why.order import Result, heard, printed
from premortem.why.proposals import _as_number, scaled_rate
from premortem.why.verdict import (
    CAUSE,
    HEALTHY,
    HELPS,
    HURTS,
    NO_TIME,
    NOTHING,
    UNKNOWN,
    Row,
    conclude,
    judge,
    ranked,
)
from premortem.why.yardsticks import by_heart, compare, cut, diverges, learns, noise, other_start, yardsticks

LINE = "train.py:9"


def ran(first, last, count=100, **more):
    """A loss that goes from one value to the other in a straight line."""
    series = [first + (last - first) * place / (count - 1) for place in range(count)]
    return Result(losses={LINE: series}, backwards=count, ended="finished", **more)


def judged(as_is, changed, name, *, seeds=None, again=(), supported=False, same=True, evaluated=False):
    seeds = seeds or [as_is, as_is]
    sticks = yardsticks(as_is)
    learning = changes.of("learning")[name].learning
    row = Row(
        name, learning.title, learning.question, learning.family, learning=learning, supported=supported
    )
    judge(row, compare(sticks, noise(sticks, seeds), as_is, changed, same_loss=same, evaluated=evaluated))
    row.again = list(again)
    return row


def test_seeds_decide_what_an_effect_is():
    as_is, better = ran(2.0, 1.0), ran(2.0, 0.7)
    assert judged(as_is, better, "no-clipping").verdict == HELPS
    noisy = [ran(2.0, 1.0), ran(2.0, 0.4), ran(2.0, 1.6)]
    assert judged(as_is, ran(2.0, 0.8), "no-clipping", seeds=noisy).verdict == NOTHING
    assert judged(as_is, ran(2.0, 1.9), "no-clipping").verdict == HURTS


def test_a_loss_that_a_change_alters_is_not_compared():
    assert judged(ran(2.0, 1.0), ran(2.0, 0.1), "loss-sign-flipped", same=False).verdict == NOTHING
    fits = {"train": [0.1] * 50 + [0.9] * 50, "eval": []}
    as_is = ran(2.0, 1.0, fits={"train": [0.1] * 100, "eval": []})
    assert judged(as_is, ran(2.0, 5.0, fits=fits), "loss-sign-flipped", same=False).verdict == HELPS


def test_two_lines_that_take_turns_have_no_common_loss():
    both = Result(losses={"a:1": [1.0] * 50, "a:2": [1.0] * 50}, fits={"train": [0.5] * 100}, backwards=100)
    assert yardsticks(both) == []
    assert learns([], {}, [both])


def test_whether_it_learns():
    for result, expected in ((ran(2.0, 1.0), True), (ran(2.0, 1.99), False), (ran(2.0, 3.0), False)):
        sticks = yardsticks(result)
        assert learns(sticks, noise(sticks, [result, result]), [result, result]) is expected
    assert diverges(ran(2.0, 9.0))
    assert diverges(Result(losses={LINE: [1.0] * 9 + [math.nan]}, backwards=10))
    assert not diverges(ran(2.0, 1.0))


def test_a_cause_has_to_repeat():
    row = judged(ran(2.0, 2.0), ran(2.0, 0.2), "no-clipping")
    assert ranked([row], learns=False) == []
    row.again = [0.01]
    assert ranked([row], learns=False) == []
    row.again = [0.8]
    assert ranked([row], learns=False) == [row]


def test_a_setting_that_is_merely_better_is_no_cause():
    faster = judged(ran(2.0, 1.0), ran(2.0, 0.5), "rate-times-ten", again=[0.2])
    said = conclude([faster], [], learns=True, diverges=False, judged=True, seeds=3)
    assert said.verdict == HEALTHY
    assert said.notes == [faster]
    stuck = judged(ran(2.0, 2.0), ran(2.0, 0.2), "rate-times-ten", again=[0.8])
    assert conclude([stuck], [], learns=False, diverges=False, judged=True, seeds=3).verdict == CAUSE


def test_a_rate_is_not_blamed_for_a_run_of_few_steps():
    faster = judged(ran(2.0, 2.0), ran(2.0, 0.2), "rate-times-ten", again=[0.8])
    faster.few = True
    said = conclude([faster], [], learns=False, diverges=False, judged=True, seeds=3)
    assert said.verdict == UNKNOWN
    assert "more steps" in said.sentence
    assert said.notes == [faster]


def test_in_few_steps_what_only_makes_them_larger_is_no_mistake():
    """Inputs of another scale are learned as well, a little later."""
    for name, cause in (("inputs-standardised", False), ("no-clipping", True)):
        better = judged(ran(2.3, 2.2), ran(2.3, 0.9), name, again=[0.5])
        better.few = bool(better.learning.slow)
        assert bool(ranked([better], learns=True)) is cause


def test_a_setting_that_is_wrong_by_more_than_ten_is_a_mistake():
    near = judged(ran(2.0, 1.5), ran(2.0, 1.0), "rate-times-ten", again=[0.2])
    far = judged(ran(2.0, 1.5), ran(2.0, 0.5), "rate-times-hundred", again=[0.4])
    assert ranked([near, far], learns=True) == []
    near.further = far.further = True
    assert ranked([near, far], learns=True) == [far], "one setting is one cause: the factor that gains most"
    said = conclude([near, far], [], learns=True, diverges=False, judged=True, seeds=3)
    assert (said.verdict, said.notes) == (CAUSE, [])


def test_a_first_loss_that_is_far_too_high_is_no_scale():
    row = judged(ran(3.0, 0.5), ran(0.7, 0.3), "default-initialisation", again=[0.6])
    assert row.gain.size > 0.5
    assert row.gain.ratio < 1.5
    assert row.gain.rest < 3.0
    assert ranked([row], learns=True) == [row]


def test_seeds_that_lie_far_apart_and_are_all_better_with_the_change():
    noisy = [ran(2.0, 1.5), ran(2.0, 0.9), ran(2.0, 1.9)]
    row = judged(noisy[0], ran(2.0, 0.7), "no-clipping", seeds=noisy, again=[0.3])
    assert row.verdict == HELPS, "worth asking again"
    assert ranked([row], learns=True) == []
    row.again = [0.3, 0.5]
    assert ranked([row], learns=True) == [row]
    row.again = [0.3, -0.1]
    assert ranked([row], learns=True) == []


def test_a_number_in_yaml_is_one():
    words = {
        "2e-3": "2.0e-3",
        "1E5": "1.0e+5",
        "0.002": "0.002",
        "3.5e-4": "3.5e-4",
        "adam": "adam",
        "e5": "e5",
    }
    assert {word: _as_number(word) for word in words} == words


def test_what_is_left_to_learn_counts_where_much_is_learned_as_it_is():
    as_is = ran(2.0, 0.5)
    assert ranked([judged(as_is, ran(2.0, 0.3), "no-clipping", again=[0.1])], learns=True) == []
    row = judged(as_is, ran(2.0, 0.0), "no-clipping", again=[0.2])
    assert row.gain.ratio < 1.5 < row.gain.rest
    assert ranked([row], learns=True) == [row]


def test_what_makes_training_easier_is_judged_by_an_evaluation():
    easier = {"train": [0.9] * 40, "eval": [0.5] * 40}
    as_is = ran(2.0, 1.5, fits={"train": [0.5] * 40, "eval": [0.5] * 40})
    sticks = yardsticks(as_is)
    chance = noise(sticks, [as_is, as_is])
    changed = ran(2.0, 0.2, fits=easier)
    gains = compare(sticks, chance, as_is, changed, same_loss=True, evaluated=True)
    assert [(each.yardstick, each.size) for each in gains] == [("evaluation fit", 0.0)]
    alone = [each for each in sticks if not each.evaluated]
    gains = compare(alone, chance, as_is, changed, same_loss=True, evaluated=True)
    assert "loss" not in {each.yardstick for each in gains}
    row = Row("no-dropout", "", "mode", "config", learning=changes.of("learning")["no-dropout"].learning)
    judge(row, gains)
    row.again = [0.4]
    assert ranked([row], learns=True) == [], "without an evaluation it says nothing of a script that learns"
    assert ranked([row], learns=False) == [row]


def test_losses_that_work_against_each_other_are_no_measure_and_what_is_generated_is():
    both = Result(
        losses={"a:1": [1.0] * 50, "a:2": [1.0] * 50},
        printed={"loss_d": [1.2, 1.1, 1.0, 0.9], "fid": [9.0, 8.0, 7.0, 6.0]},
        apart=[0.8, 0.8, 0.8, 0.1],
        backwards=100,
    )
    named = [each.name for each in yardsticks(both)]
    assert named == ["distance of generated from real samples", "printed fid"]
    assert learns(yardsticks(both), noise(yardsticks(both), [both, both]), [both, both])


def test_what_stands_still_is_no_proof():
    """It does better than what gets worse, and learns as little."""
    for last, cause in ((2.0, False), (1.0, True)):
        slower = judged(ran(2.0, 3.5), ran(2.0, last), "rate-hundredth", again=[0.6])
        slower.further = True
        assert slower.verdict == HELPS
        assert bool(ranked([slower], learns=False)) is cause


def test_generated_samples_that_begin_where_the_real_ones_are_have_nothing_to_learn():
    losses = {"g.py:1": [1.0] * 40, "g.py:2": [1.0] * 40}
    for begin, known in ((0.01, 0), (0.5, 1)):
        assert len(yardsticks(Result(losses=losses, backwards=80, apart=[begin, begin, begin, 0.1]))) == known


def test_where_targets_grow_with_the_model_the_loss_is_no_measure():
    """Values that are learned from rewards grow, and the error with them."""
    grows = ran(
        1.0,
        5.0,
        fits={"train": [0.3] * 100, "eval": []},
        targets=[1.0] * 100,
        printed={"loss": [1.0, 3.0, 5.0]},
    )
    assert diverges(grows)
    assert "loss" in {each.name for each in yardsticks(grows)}
    grows.targets = [1.0 + place / 50 for place in range(100)]
    assert not diverges(grows)
    assert {each.name for each in yardsticks(grows)} == {"training fit", "training fit, whole run"}


def test_a_mistake_comes_before_the_rate_that_masks_it():
    rate = judged(ran(2.0, 2.0), ran(2.0, 0.1), "rate-times-ten", again=[0.9])
    clipping = judged(ran(2.0, 2.0), ran(2.0, 0.3), "no-clipping", again=[0.8])
    assert ranked([rate, clipping], learns=False)[0] is clipping
    owned = judged(ran(2.0, 2.0), ran(2.0, 0.4), "everything-owned", again=[0.8])
    assert ranked([rate, clipping, owned], learns=False)[0] is owned


def test_healthy_only_when_everything_was_tried():
    learning = changes.of("learning")["no-clipping"].learning
    left = Row("no-clipping", "no clipping", "update", "clipping", why=NO_TIME, learning=learning)
    assert conclude([left], [], learns=True, diverges=False, judged=True, seeds=3).verdict == UNKNOWN
    assert conclude([], [], learns=True, diverges=False, judged=True, seeds=3).verdict == HEALTHY
    assert conclude([], [], learns=False, diverges=False, judged=True, seeds=3).verdict == UNKNOWN


def test_a_script_that_nothing_measures_is_not_called_healthy():
    said = conclude([], [], learns=True, diverges=False, judged=False, seeds=3)
    assert said.verdict == UNKNOWN
    assert "print a metric" in said.sentence


def test_a_warning_whose_remedy_changes_nothing_is_refuted_and_an_error_is_not():
    row = judged(ran(2.0, 1.0), ran(2.0, 1.0), "shuffled")
    warning = {"name": "class-sorted-batches", "family": "data-order", "severity": "warning"}
    assert conclude([row], [warning], learns=True, diverges=False, judged=True, seeds=3).verdict == HEALTHY
    error = warning | {"severity": "error"}
    assert conclude([row], [error], learns=True, diverges=False, judged=True, seeds=3).verdict == CAUSE


def test_only_what_applies_is_asked_and_what_was_reported_comes_first():
    run = RunDescription(clips=True, schedules=True)
    asked = [each for each in questions.asked(run, {}) if not each.skipped]
    assert {each.name for each in asked} == {"no-clipping", "rate-constant", "rate-times-ten", "rate-tenth"}
    reported = {"names": {"clipped-hard-every-step"}, "families": set()}
    assert questions.asked(run, reported)[0].name == "no-clipping"
    more = [
        each.name for each in questions.asked(replace(run, stuck=True, targets=True), {}) if not each.skipped
    ]
    assert {"same-batch", "labels-shuffled", "inputs-noise"} <= set(more)


@pytest.mark.parametrize("name", changes.of("learning"))
def test_every_change_answers_a_question_and_has_a_name_in_the_catalog(name):
    learning = changes.of("learning")[name].learning
    assert questions.question(learning.question)
    if learning.finding:
        catalog.lookup(learning.finding)


def test_printed_metrics_are_read_by_their_names():
    text = "epoch 0 train loss 2.0 val acc 10.0\nepoch 1 train loss 1.0 val acc 50.0\nbest acc 50.0\n"
    found = printed(text)
    assert found["train_loss"] == [2.0, 1.0]
    assert found["val_acc"] == [10.0, 50.0]
    assert not any("epoch" in name for name in found)


def test_a_diff_is_applied_where_its_lines_have_moved_to():
    text = "a\nb\nc\nd\n"
    diff = "--- a/x.py\n+++ b/x.py\n@@ -2,2 +2,2 @@\n b\n-c\n+C\n"
    assert diffs.files_after(diff, lambda name: "new\n" + text) == {"x.py": "new\na\nb\nC\nd\n"}
    with pytest.raises(diffs.DoesNotApply):
        diffs.files_after(diff, lambda name: "other\n")
    with pytest.raises(diffs.DoesNotApply):
        diffs.read("no diff at all")
    made = diffs.files_after("--- /dev/null\n+++ b/y.py\n@@ -0,0 +1 @@\n+x = 1\n", lambda name: None)
    assert made == {"y.py": "x = 1\n"}


def test_what_only_makes_the_number_better_is_called_that():
    as_is = ran(2.0, 1.0, norms=[1.0] * 100)
    assert not cheats(as_is, ran(2.0, 0.2, norms=[1.0] * 100))
    assert "evaluates on samples" in cheats(as_is, ran(2.0, 1.0, same_rows=1.0))
    assert "same for every sample" in cheats(as_is, ran(2.0, 1.0, constant=1.0))
    assert "skipped" in cheats(as_is, ran(0.0, 0.0, norms=[0.0] * 100))
    assert "backward passes" in cheats(as_is, ran(2.0, 1.0, count=20))
    assert same_loss(as_is, ran(2.0, 0.1))
    assert not same_loss(as_is, ran(0.2, 0.1))


def test_a_metric_that_is_printed_otherwise_is_no_fix():
    as_is = ran(2.0, 1.0, outputs=[0.5], printed={"acc": [0.1]})
    assert only_prints(as_is, ran(2.0, 1.0, outputs=[0.5], printed={"acc": [0.9]}))
    assert not only_prints(as_is, ran(2.0, 1.0, outputs=[0.7]))
    assert not only_prints(as_is, ran(2.0, 0.9, outputs=[0.5]))


def test_numbers_that_are_not_finite_arrive_as_numbers():
    result = heard([{"losses": {LINE: [1.0, "nan", "inf"]}, "norms": ["inf"], "ended": "finished"}])
    assert math.isnan(result.losses[LINE][1])
    assert result.norms == [math.inf]
    assert diverges(replace(result, backwards=3))


def test_a_shorter_run_is_compared_with_the_beginning_of_the_other():
    half = cut(ran(2.0, 1.0, fits={"train": [0.0] * 50 + [1.0] * 50}), 50)
    assert half.backwards == len(half.losses[LINE]) == 50
    assert set(half.fits["train"]) == {0.0}
    assert half.losses[LINE][-1] > 1.4


def test_the_same_weights_must_have_the_same_loss():
    assert other_start(ran(2.0, 1.0), ran(2.0, 1.0)) == ""
    assert "another loss" in other_start(ran(2.0, 1.0), ran(2.1, 1.0))


def test_sets_hold_a_mistake_and_never_the_same_lever_twice():
    names = (
        "no-clipping",
        "rate-times-ten",
        "rate-tenth",
        "plain-adam",
        "first-term-silent",
        "second-term-silent",
    )
    rows = [judged(ran(2.0, 2.0), ran(2.0, 1.99), name) for name in names]
    asked = {row.change for row in sets.pairs(rows)}
    assert {"no-clipping+rate-times-ten", "no-clipping+first-term-silent"} <= asked
    assert not {"rate-times-ten+rate-tenth", "first-term-silent+second-term-silent"} & asked
    assert not {"rate-times-ten+plain-adam", "rate-tenth+plain-adam"} & asked
    both = sets.together(rows[1], rows[0])
    assert (both.change, both.family) == ("no-clipping+rate-times-ten", "clipping")
    assert not both.learning.certain


def test_two_changes_that_help_no_more_than_one_of_them_are_that_one():
    stuck = ran(2.0, 2.0)
    rate, weights = (
        judged(stuck, ran(2.0, last), name)
        for name, last in (("rate-times-hundred", 0.5), ("default-initialisation", 2.0))
    )
    for last, verdict in ((0.45, NOTHING), (0.1, HELPS)):
        both = sets.together(weights, rate)
        judge(both, compare(yardsticks(stuck), {"loss": 0.04}, stuck, ran(2.0, last), same_loss=True))
        assert both.verdict == HELPS
        sets.settle(both, [rate, weights, both])
        assert both.verdict == verdict
    assert both.learning.slow, "in few steps the rate in it proves nothing"
    settled = replace(rate)
    sets.settle(settled, [rate, weights, settled])
    assert settled.verdict == HELPS


def test_what_is_asked_only_of_a_script_that_does_not_learn():
    learns_well = RunDescription(optimizers=("Adam",), targets=True, terms=3, backwards_per_step=4)
    asked = {each.name for each in questions.asked(learns_well, {}) if not each.skipped}
    stuck = {each.name for each in questions.asked(replace(learns_well, stuck=True), {}) if not each.skipped}
    more = {"plain-adam", "plain-sgd", "float64", "batch-permuted", "no-accumulation", "first-term-alone"}
    assert not more & asked
    assert more <= stuck
    assert {
        each.name for each in questions.asked(replace(learns_well, diverges=True), {}) if not each.skipped
    } >= more


def test_labels_that_say_nothing_are_suspected_only_where_one_batch_is_memorised():
    stuck = ran(2.0, 2.0)

    def concluded(batch, labels):
        rows = [judged(stuck, batch, "same-batch"), judged(stuck, labels, "labels-shuffled")]
        return conclude(rows, [], learns=False, diverges=False, judged=True, seeds=3)

    said = concluded(ran(2.0, 0.1), ran(2.0, 2.0))
    assert said.verdict == UNKNOWN, "a suspicion is no cause"
    assert [each["name"] for each in said.findings] == ["labels-say-nothing"]
    assert concluded(ran(2.0, 1.9), ran(2.0, 2.0)).findings == []
    assert concluded(ran(2.0, 0.1), ran(2.0, 3.0)).findings == []


def with_accuracy(*values, last=0.2):
    return ran(2.0, last, printed={"val_acc": list(values)})


def test_what_is_learned_by_heart_is_not_called_healthy():
    """Training gets better, and with the labels of other samples the evaluation is as good."""
    flat, good = [0.5, 0.52, 0.48, 0.5, 0.51], [0.9, 0.91, 0.9, 0.92, 0.91]
    rising = [0.5, 0.6, 0.7, 0.8, 0.9]
    for values, expected in ((flat, True), (good, True), (rising, False), ([], False)):
        seeds = [with_accuracy(*values), with_accuracy(*values)]
        assert by_heart(yardsticks(seeds[0]), seeds) is expected

    heart = RunDescription(targets=True, by_heart=True)
    assert "labels-shuffled" in {each.name for each in questions.asked(heart, {}) if not each.skipped}
    assert "labels-shuffled" not in {
        each.name for each in questions.asked(replace(heart, by_heart=False), {}) if not each.skipped
    }

    for values, expected in ((flat, UNKNOWN), (good, HEALTHY)):
        as_is, shuffled = with_accuracy(*values), with_accuracy(*flat, last=2.0)
        row = judged(as_is, shuffled, "labels-shuffled", evaluated=True)
        said = conclude([row], [], learns=True, diverges=False, judged=True, seeds=3)
        assert said.verdict == expected
        assert said.findings == []


def test_a_rate_is_changed_in_the_config_that_holds_it(tmp_path):
    script, config = tmp_path / "train.py", tmp_path / "config.yaml"
    script.write_text('from torch.optim import SGD\nSGD(ps, lr=cfg["train"]["lr"])\n')
    config.write_text("train:\n  lr: 0.00002\nother:\n  lr: 1\n")
    made = scaled_rate(100.0, [str(script)], ["train.py", "--config", "config.yaml"], tmp_path)
    assert made.files == {str(config): "train:\n  lr: 0.002\nother:\n  lr: 1\n"}
    config.write_text("a:\n  train:\n    lr: 1\nb:\n  train:\n    lr: 1\n")
    assert scaled_rate(100.0, [str(script)], ["train.py"], tmp_path) is None, "which of the two"


@pytest.mark.parametrize(
    ("name", "so"), [("inputs-standardised", True), ("rate-times-ten", True), ("no-clipping", False)]
)
def test_what_makes_training_easier_by_itself_is_judged_by_evaluations(name, so):
    assert eases(changes.of("learning")[name].learning) is so


@pytest.mark.parametrize(
    ("name", "values", "better"),
    [
        ("val", [0.9, 0.7, 0.5, 0.4, 0.3, 0.2], [-1]),
        ("val", [0.2, 0.5, 0.7, 0.8, 0.9, 0.98], []),  # an accuracy, or a loss that gets worse
        ("val_loss", [0.2, 0.5, 0.7, 0.8, 0.9, 0.98], [-1]),
        ("val_acc", [0.2, 0.5, 0.7, 0.8, 0.9, 0.98], [1]),
    ],
)
def test_a_number_of_an_evaluation_that_has_no_name_is_a_loss_where_it_falls(name, values, better):
    sticks = yardsticks(ran(1.0, 0.2, printed={name: values}))
    assert [stick.better for stick in sticks if stick.name == f"printed {name}"] == better
