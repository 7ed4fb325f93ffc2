from dataclasses import replace

from premortem.events import Backward, GradTaken, LossTested, Masked, NonFinite
from tests.detectors.rehearsal import Rehearsal, line

NAN = float("nan")


def thrown(steps, *, origin=None, scaled=False):
    """`if not isfinite(gradients): continue`, after a while."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    for number in range(steps + 4):
        bad = number >= 4
        play.zero()
        play.forward()
        if bad and origin is not None and number == 4:
            play.add(origin)
        play.backward(value=0.5, grads_finite=not bad, scaled=scaled)
        if not bad:
            play.stepped()
            play.stats(0.5)
    return play.end()


def run(*, mask=None, worst=None, seen=None, value=None, skipped=False, steps=8, **facts):
    """`seen`: whether the gradients were finite right after backward; `value`: of the criterion."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    for _ in range(steps):
        play.zero()
        play.forward()
        if mask:
            play.add(Masked(step=play.step, at=line(16, "forward"), **mask))
        play.loss(value)
        if not skipped:
            play.backward(value=0.5, grads_finite=seen)
            play.stepped()
            play.stats(0.5, worst=worst, **facts)
    return play.end()


def comes_and_goes(*, other=False):
    """Broken steps between sound ones, all refused, and three in a row at last; only the first was looked at."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    for number in range(12):
        bad = number in {2, 6, 9, 10, 11}
        if other and number == 8:
            play.optimizer(1, 2)
        play.zero()
        play.forward()
        if number == 2:
            play.add(ROOT)
        play.backward(value=0.5, grads_finite=not bad)
        play.stepped()
        play.stats(0.5, worst=1 if bad else None)
    return play.end()


def by_hand(values):
    """`p.data -= rate * autograd.grad(loss, p)`, and the loss is printed."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    for value in values:
        play.forward()
        play.add(GradTaken(step=play.step, at=line(15), forwards=(1,)))
        play.add(LossTested(step=play.step, at=line(16), value=value))
    return play.end()


def asked(values, *, backward=None):
    """`if torch.isnan(loss): continue`, or with `backward` something else in its place."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    for value in values:
        play.zero()
        play.forward()
        play.add(LossTested(step=play.step, at=line(16), value=value))
        if backward is not None or value == value:  # noqa: PLR0124 - NaN is not itself
            play.backward(value=value if value == value else backward, grads_finite=True)  # noqa: PLR0124
            play.stepped()
            play.stats(0.5)
    return play.end()


def accumulated(*, cleared):
    """Two passes make a step, and the first breaks; `cleared`: by `p.grad = None`, which is not seen, and not used."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    for _ in range(8):
        play.zero()
        play.forward()
        play.add(ROOT)
        play.backward(value=0.5, grads_finite=False)
        play.forward()
        play.backward(value=0.5, grads_finite=cleared)
        play.stepped()
        play.stats(0.5, worst=None if cleared else 1)
    return play.end()


def engine(*, worst):
    """An engine keeps the gradients where nobody sees them. It leaves some steps out, or, with `worst`, does not."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    for value in (0.5, 0.4, NAN, NAN, NAN, 0.4):
        play.forward()
        if value is NAN:
            play.add(replace(ROOT, stage="forward", value=value))
        play.add(Backward(step=play.step, at=line(22), value=value, root="MseLoss"))
        if value is not NAN:
            play.stepped()
            play.stats(value, worst=worst if play.step == 3 else None)
    return play.end()


SOME = {"op": "nan_to_num", "count": 40, "total": 128, "grad": True, "origin": "the logarithm of 0"}
ALL = {"op": "nan_to_num", "count": 128, "total": 128, "grad": True}
DATA = {"op": "nan_to_num", "count": 5, "total": 256}

EVENTS = run(mask=SOME, worst=1, weights_finite=False)
WHOLE = run(mask=ALL)
OF_GRADIENTS = run(mask={**SOME, "gradient": True})
WIPED_OUT = run(seen=False)
REPLACED = run(value=NAN)
SKIPPED = run(value=NAN, skipped=True, steps=24)
ROOT = NonFinite(
    at=line(13, "forward"),
    stage="backward",
    value=0.5,
    op="sqrt",
    detail="the derivative of sqrt at 0",
    made="inf",
    module="model.scale",
    located=True,
    watched=True,
)
THROWN = thrown(24, origin=ROOT)
LEFT_OUT_BY_AN_ENGINE = engine(worst=None)
COMES_AND_GOES = comes_and_goes()
IN_ANOTHER_TRAINING = comes_and_goes(other=True)
ASKED_AND_SKIPPED = asked([0.5] * 4 + [NAN] * 24)
ASKED_AND_REPLACED = asked([0.5] * 4 + [NAN] * 8, backward=0.0)
BY_HAND = by_hand([0.5] * 4 + [NAN] * 24)
HEALTHY = [
    by_hand([0.5, NAN, 0.5, 0.5] * 10),
    run(seen=True),
    run(mask=DATA, seen=True),  # missing values of the data
    run(mask=SOME, seen=True),  # masked rows whose gradients stay finite
    run(mask=ALL, steps=2),
    run(value=NAN, skipped=True, steps=5),
    thrown(5),
    asked([0.5] * 40),
    asked([0.5, NAN, 0.5, 0.5] * 10),  # a bad batch now and then
    engine(worst=1),  # what was summed up is broken too: nothing was left out
    thrown(24, scaled=True),  # a gradient scaler that looks for its scale
]
