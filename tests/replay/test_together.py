"""Results and capsules of several ranks as one. No torch, no script."""

import itertools
import json

import pytest

from premortem.errors import UsageError
from premortem.replay.capsule import CapsuleError
from premortem.replay.order import Order
from premortem.replay.plan import Plan, agrees
from premortem.replay.rank_capsules import beside, found
from premortem.replay.rank_results import joined, merge
from premortem.replay.replayed_script import check_devices
from premortem.replay.trial import Result, Term, Trial

NAN = {"value": "nan", "dtype": "torch.float32", "bits": "7fc00000"}
GOOD = {"value": 0.5, "dtype": "torch.float32", "bits": "3f000000"}
OTHER = {"value": 0.25, "dtype": "torch.float32", "bits": "3e800000"}
AS_IT_WAS = Trial("as it was")


def result(loss=GOOD, gradients="g", trial=AS_IT_WAS, **more):
    return Result(trial, losses=[loss], gradients=gradients, **more)


def born(op="log", stage="forward", line=7, what="input"):
    return {"op": op, "stage": stage, "what": what, "file": "train.py", "line": line, "rows": [2]}


def manifest(loss, gradients, **more):
    facts = {"reason": "gradient", "losses": [loss], "gradients": gradients, "steps": 7, "notes": []}
    facts |= {"draws": [{}], "device": "cpu", "optimizer": 0, "optimizers": [{"groups": []}]}
    return {**facts, **more}


def test_one_rank_s_result_is_its_own():
    alone = result(NAN)
    assert merge([alone]) is alone
    only = manifest(NAN, "g")
    assert joined([only]) is only


def test_broken_on_one_rank_is_broken():
    merged = merge([result(), result(NAN, bad_gradients=["w"])])
    assert merged.failed
    assert not merged.loss_finite
    assert merged.bad_gradients == ["w"]
    assert merge([result(), result()]).failed is False
    assert merge([result(GOOD), result(OTHER)]).loss == 0.375
    assert merge([result(), result(bad_buffer=True)]).failed
    assert merge([result(bad_update=["w"]), result(bad_update=["w", "v"])]).bad_update == ["w", "v"]


def test_equal_is_only_what_is_equal_on_every_rank():
    whole = joined([manifest(GOOD, "a"), manifest(NAN, "b")])
    same = merge([result(GOOD, "a"), result(NAN, "b")])
    assert agrees(same, whole)
    assert same.gradients == whole["gradients"]
    assert not agrees(merge([result(OTHER, "a"), result(NAN, "b")]), whole)
    assert not agrees(merge([result(NAN, "a"), result(GOOD, "b")]), whole)  # the same two, on the wrong ranks
    assert merge([result(GOOD, "a"), result(NAN, "c")]).gradients != whole["gradients"]
    assert merge([result(GOOD, "b"), result(NAN, "a")]).gradients != whole["gradients"]
    more = merge([Result(AS_IT_WAS, losses=[OTHER, GOOD], gradients="a"), result(NAN, "b")])
    assert agrees(more, whole)  # of each rank its own last ones


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        pytest.param([result(), result(NAN, certificate=born())], [1], id="who-saw-it"),
        pytest.param(
            [result(certificate=born("", "data")), result(NAN, certificate=born())],
            [1],
            id="before-who-was-given-it",
        ),
        pytest.param(
            [result(certificate=born("empty")), result(certificate=born("sqrt", "backward"))],
            [1],
            id="a-gradient-with-sound-losses",
        ),
        pytest.param(
            [result(certificate=born("", "data")), result(NAN, certificate=born("", "data"))],
            [1],
            id="data-of-the-rank-whose-loss-is-broken",
        ),
        pytest.param([result(NAN, certificate=born()), result(NAN, certificate=born())], [0, 1], id="both"),
        pytest.param(
            [result(certificate=born("", "data")), result(NAN)], None, id="a-received-one-is-no-origin"
        ),
        pytest.param(
            [result(certificate=born("", "data")), result(certificate=born("", "data"))],
            None,
            id="nobody-knows-who-had-it-first",
        ),
        pytest.param(
            [result(), result(certificate=born("", "weights"))], None, id="a-gradient-that-came-is-no-weight"
        ),
        pytest.param(
            [result(certificate=born("", "data")), result(certificate=born("", "data", what="scores"))],
            [1],
            id="a-variable-of-its-own",
        ),
    ],
)
def test_the_birth_is_told_by_the_rank_where_it_was(ranks, expected):
    certificate = merge(ranks).certificate
    assert (certificate and certificate["ranks"]) == expected
    assert certificate is None or certificate["rank"] == expected[0]


def test_the_error_is_the_first_one():
    late = Result(AS_IT_WAS, error="the connection was closed by a peer", at=2.0)
    early = Result(AS_IT_WAS, error="ValueError: here", at=1.0)
    merged = merge([late, early])
    assert merged.error == "rank 1: ValueError: here"
    assert not merged.decided
    assert not merge([result(), early]).decided


def test_what_all_say_is_said_once():
    merged = merge([result(warnings=["a", "b"]), result(warnings=["a"])])
    assert merged.warnings == ["a", "rank 0: b"]
    notes = [manifest(GOOD, "a", notes=["n"]), manifest(NAN, "b", notes=["n", "m"])]
    assert joined(notes)["notes"] == ["n", "rank 1: m"]


def test_a_term_is_broken_when_it_is_on_one_rank():
    def terms(finite):
        return [
            Term(0, "main", "t.py", 3, 1.0, True, None),
            Term(1, "extra", "t.py", 3, 2.0 if finite else "nan", finite, None),
        ]

    merged = merge([result(terms=terms(True)), result(NAN, terms=terms(False))])
    assert [(term.op, term.healthy) for term in merged.terms] == [("main", True), ("extra", False)]


def test_a_buffer_that_one_rank_s_batch_broke():
    whole = joined([manifest(GOOD, "a"), manifest(NAN, "b", buffer={"name": "model/0/mean", "bits": "x"})])
    assert agrees(merge([result(GOOD, "a"), result(NAN, "b", buffer="x")]), whole)
    assert not agrees(merge([result(GOOD, "a"), result(NAN, "b", buffer="y")]), whole)


def test_every_rank_chooses_the_same_trials_and_leaves_out_samples_of_the_one_to_blame():
    """Two ranks of 8 samples; sample 5 of the second one breaks the loss there, and with it the gradients of both."""
    whole = joined([manifest(GOOD, "a"), manifest(NAN, "b")])

    def rank(number, trial):
        bad = trial.settings.get("kept") is None or trial.rank != 1 or 5 in trial.settings["kept"]
        broken = NAN if bad and number == 1 else GOOD
        seen = born() if number == 1 else born("", "data")
        return Result(
            trial,
            losses=[broken],
            gradients="ab"[number],
            bad_gradients=["w"] if bad else [],
            samples=8,
            certificate={**seen, "rows": [5]} if trial.microscope else None,
        )

    plans = [Plan(whole, {}), Plan(whole, {})]
    for _ in range(40):
        trials = [plan.trial for plan in plans]
        assert trials[0] == trials[1]
        if trials[0] is None:
            break
        heard = merge([rank(number, trials[number]) for number in range(2)])
        for plan in plans:
            plan.heard(heard)
    report = plans[0].report
    assert (report.bitwise, report.gradients) == (True, True)
    assert report.smallest.title == "without sample 5 of rank 1"
    assert [o.title for o in report.outcomes if o.gone is None] == ["float64"]


def test_samples_that_every_rank_is_given_are_left_out_on_every_rank():
    whole = joined([manifest(NAN, "a"), manifest(NAN, "b")])
    plan = Plan(whole, {})
    for _ in range(40):
        trial = plan.trial
        if trial is None:
            break
        bad = trial.settings.get("kept") is None or 2 in trial.settings["kept"] or trial.rank is not None
        seen = born() if trial.microscope else None
        own = Result(trial, losses=[NAN if bad else GOOD], gradients="a", samples=8, certificate=seen)
        plan.heard(merge([own, own]))
    assert plan.report.smallest.title == "without sample 2 of every rank"
    assert plan.report.smallest.tells.startswith("Sample 2 of 8 on every rank is enough")


def test_earlier_trials_are_those_that_all_ranks_have_made(tmp_path):
    order = Order(capsules=[tmp_path, tmp_path], shared=tmp_path, argvs=[], digests=[])
    for rank, count in enumerate((2, 1)):
        lines = [json.dumps({"result": result(NAN, f"{rank}{i}").to_json()}) for i in range(count)]
        order.log(rank).write_text("\n".join(['{"here": {}, "at": 1}', *lines, '{"half']))
    assert [each.gradients for each in order.earlier()] == ["00 10"]
    assert order.joint(0).gradients == "00 10"


def test_every_rank_needs_a_gpu_of_its_own(tmp_path):
    order = Order(capsules=[tmp_path, tmp_path], shared=tmp_path, argvs=[], digests=[])
    check_devices({"device": "cuda:0"}, order, 2)
    check_devices({"device": "cpu"}, order, 0)
    with pytest.raises(UsageError, match="ran on 2 GPUs, one for each rank, and there are 1 here"):
        check_devices({"device": "cuda:0"}, order, 1)


def test_siblings_lie_in_the_folders_of_their_ranks(tmp_path):
    mine = tmp_path / "rank-3" / "old" / "rank-0" / "run-2" / "capsules" / "step-5"
    assert beside(mine, 1) == tmp_path / "rank-3" / "old" / "rank-1" / "run-2" / "capsules" / "step-5"
    for step, rank in itertools.product((10, 3), (0, 1)):
        folder = tmp_path / "run" / f"rank-{rank}" / "capsules" / f"step-{step}"
        folder.mkdir(parents=True)
        (folder / "capsule.json").touch()
    assert found(tmp_path / "run") == tmp_path / "run" / "rank-0" / "capsules" / "step-3"
    (tmp_path / "empty").mkdir()
    with pytest.raises(CapsuleError, match=r"empty.* capsules/step-N"):
        found(tmp_path / "empty")
