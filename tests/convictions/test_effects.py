"""Every effect: what convicts a suspicion, and what looks like it and does not."""

from pathlib import Path

import pytest

from premortem import detectors
from premortem.convictions.court import Court
from premortem.convictions.table import CHARGES, READ
from premortem.events import (
    Backward,
    BatchDrawn,
    Clip,
    EpochStarted,
    Forward,
    LoaderBuilt,
    ModelSeen,
    OptimizerBuilt,
    OptimizerStep,
    Repeated,
    ResultDropped,
    RunEnded,
    SchedulerStep,
    Site,
    SourceRead,
    Suspicion,
)
from premortem.findings import Certainty, Severity
from premortem.lint import rules

CARDS = {rule.card.code: rule.card for rule in rules.ALL}
HERE, ELSEWHERE = Site("/p/train.py", 10), Site("/p/train.py", 99)


def suspicion(code, message="it is suspected", text="call()"):
    return Suspicion(CARDS[code], "/p/train.py", 10, 11, text, message, "Do it right.")


def judged(code, run, **more):
    """The findings of a run whose files are read at its very end, or before everything: both are the same."""
    named = {unit.card.name: unit.card for unit in detectors.ALL}
    read = SourceRead(files=1, suspicions=(suspicion(code, **more),))
    found = []
    for order in ([*run, read], [read, *run]):
        court = Court(named)
        found.append([finding for event in order for finding in court.observe(event)])
    assert found[0] == found[1]
    return found[0]


def scheduler(metric=None, before=0.1, after=0.1, at=HERE, horizon=None, since=1, count=1):
    return SchedulerStep(
        at=at, scheduler=1, optimizer=1, kind="X", count=count, position=count, horizon=horizon,
        before=before, after=after, metric=metric, since_step=since,
    )  # fmt: skip


def model(*repeats):
    return ModelSeen(model=1, name="model", kind="Net", parameters=(), repeats=repeats)


def forward(fingerprint, at=HERE):
    return Forward(
        at=at,
        model=1,
        grad=False,
        training=False,
        noisy_train=0,
        noisy_eval=0,
        samples=4,
        fingerprint=fingerprint,
    )


def crash(error, message, at=HERE):
    return RunEnded(reason="crashed", error=error, message=message, at=at)


def loader(at=HERE, shuffle=False, batches=50):
    return LoaderBuilt(
        at=at,
        loader=1,
        samples=400,
        batches=batches,
        batch_size=8,
        shuffle=shuffle,
        drop_last=False,
        workers=0,
    )


def epochs(*orders):
    step = OptimizerStep(optimizer=1, kind="SGD", lrs=(0.1,))
    return [
        event
        for order in orders
        for event in (EpochStarted(loader=1), *(e for b in order for e in (BatchDrawn(loader=1, index=0, fingerprint=b), step)))
    ] + [EpochStarted(loader=1)]  # fmt: skip


def optimizer_runs(steps, at=HERE):
    built = OptimizerBuilt(at=at, optimizer=1, kind="Adam", groups=())
    return [built, *(OptimizerStep(step=n, optimizer=1, kind="Adam", lrs=(1e-5,)) for n in range(steps))]


def part(number, whole):
    of_it = {"samples": 80, "batches": 10, "batch_size": 8, "shuffle": True, "drop_last": False, "workers": 0}
    return LoaderBuilt(loader=number, part=(number, whole), **of_it)


LINES = [1, 2, 3, 4, 5]
FALLS = "`plateau` waits for its metric to fall, but `val_acc` is better when it is higher"
CASES = [
    # code, more about the report, what convicts it, look-alikes that do not
    ("PM562", {}, optimizer_runs(3), [optimizer_runs(2), optimizer_runs(5, at=ELSEWHERE)]),
    ("PM563", {}, [part(1, 5), part(2, 5)], [[part(1, 5), part(2, 6)], [part(1, 5), part(1, 5)]]),
    ("PM551", {"message": FALLS},
     [scheduler(0.5), scheduler(0.6, 0.1, 0.01)],
     [[scheduler(0.5), scheduler(0.4, 0.1, 0.01)], [scheduler(0.5), scheduler(0.6)],
      [scheduler(0.5, at=ELSEWHERE), scheduler(0.6, 0.1, 0.01, at=ELSEWHERE)]]),
    ("PM520", {}, [model(Repeated("model.blocks", "Linear", 4))], [[model()]]),
    ("PM501", {}, [ResultDropped(at=HERE, method="to", changed="the type")],
     [[ResultDropped(at=HERE, method="to", changed="")], [ResultDropped(at=ELSEWHERE, method="to", changed="the type")]]),
    ("PM535", {}, [crash("TypeError", "missing 'metrics'")],
     [[crash("TypeError", "missing", ELSEWHERE)], [crash("KeyError", "x")], [RunEnded(at=HERE)]]),
    ("PM531", {}, [crash("RuntimeError", "unscale_() has already been called since the last update().", ELSEWHERE)],
     [[crash("RuntimeError", "out of memory", ELSEWHERE)]]),
    ("PM506", {}, [Backward(value=1.0, at=ELSEWHERE, error="bad\nmore"), Backward(value=1.0)],
     [[Backward(value=1.0, at=ELSEWHERE, error="bad")], [Backward(value=1.0)] * 5]),
    ("PM530", {}, [Backward(value=1.0, scaled=True), Clip(at=HERE, kind="norm", limit=1.0, norm=900.0)] * 3,
     [[Backward(value=1.0), Clip(at=HERE, kind="norm", limit=1.0, norm=900.0)] * 3,
      [Backward(value=1.0, scaled=True), Clip(at=HERE, kind="norm", limit=1.0, norm=0.5)] * 3]),
    ("PM542", {}, [Backward(value=1.0, at=ELSEWHERE, untrained=(1, 2, 3))] * 3,
     [[Backward(value=1.0, at=ELSEWHERE)] * 5, [Backward(value=1.0, at=ELSEWHERE, untrained=(1,)), Backward(value=1.0, at=HERE)] * 4]),
    ("PM543", {}, [Backward(value=1.0, alive=n) for n in range(1, 14)],
     [[Backward(value=1.0, alive=n % 8) for n in range(40)], [Backward(value=1.0)] * 40]),
    ("PM534", {}, [loader(), EpochStarted(loader=1), *(scheduler(horizon=10, count=n) for n in (1, 2, 3))],
     [[loader(), EpochStarted(loader=1), *(scheduler(horizon=5000, count=n) for n in (1, 2, 3, 4))],
      [loader()] + [EpochStarted(loader=1), scheduler(horizon=10, since=50)] * 5]),
    ("PM548", {}, [loader(), *epochs(LINES, LINES)],
     [[loader(), *epochs(LINES, LINES[::-1])], [loader(shuffle=True), *epochs(LINES, LINES)], [loader(), *epochs([1, 1, 1], [1, 1, 1])]]),
    ("PM554", {}, [forward(7)] + [e for n in (1, 2, 3) for e in (BatchDrawn(loader=1, index=n, fingerprint=n), forward(7))],
     [[forward(7)] * 9, [e for n in range(5) for e in (BatchDrawn(loader=1, index=n, fingerprint=n), forward(n))]]),
]  # fmt: skip


@pytest.mark.parametrize(("code", "more", "run", "healthy"), CASES, ids=[case[0] for case in CASES])
def test_an_effect_convicts_what_is_suspected(code, more, run, healthy):
    (finding,) = judged(code, run, **more)
    assert finding.certainty is Certainty.PROVED
    assert (finding.where.file, finding.where.line) == ("/p/train.py", 10)
    assert finding.evidence["read"] == code
    names = CHARGES[code].reported_as
    assert finding.name == (names[0] if names else CARDS[code].name)
    assert finding.severity is (Severity.WARNING if CHARGES[code].harmless else Severity.ERROR)
    for each in healthy:
        assert judged(code, each, **more) == []


def test_the_table_has_every_rule_and_every_rule_is_judged_or_has_a_reason():
    assert set(CHARGES) == set(CARDS)
    names = {unit.card.name for unit in detectors.ALL}
    for charge in CHARGES.values():
        assert set(charge.reported_as) <= names
        assert bool(charge.unseen) != bool(charge.reported_as or charge.effects)
    assert len(READ) > 45


def test_every_effect_is_in_the_table_has_a_case_and_is_heard():
    used = {getattr(make, "func", make) for charge in CHARGES.values() for make in charge.effects}
    cases = {getattr(make, "func", make) for case in CASES for make in CHARGES[case[0]].effects}
    assert used == cases
    assert {kind for effect in used for kind in effect.listens} <= set(Court.listens)


def test_a_court_without_suspicions_is_over():
    court = Court({})
    assert list(court.observe(Backward(value=1.0))) == []
    assert not court.over
    assert list(court.observe(SourceRead(files=3))) == []
    assert court.over


def test_the_page_has_the_table():
    page = (Path(__file__).parents[2] / "docs/internals/reading.md").read_text()
    for code, charge in CHARGES.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {code} ")]
        assert all(f"`{name}`" in row for name in charge.reported_as)
        assert charge.unseen in row
