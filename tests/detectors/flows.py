"""What flows into a run, made up row by row: real samples and real profiles."""

import random

from premortem.events import DataProfiled, RunEnded
from premortem.profile.alone import summarise
from premortem.profile.between import overlap
from premortem.profile.sample import Row, Sample, mark

NAMES = tuple(f"input[:, {at}]" for at in range(4))


def rows(number, seed=0, *, scale=(1.0, 1.0, 1.0, 1.0), start=(0.0, 3.0, -2.0, 10.0)):
    draw = random.Random(seed)
    return [tuple(s + w * draw.gauss(0, 1) for s, w in zip(start, scale, strict=True)) for _ in range(number)]


def sample(values, labels=None, *, names=NAMES, classes=True):
    made = Sample(names)
    for at, row in enumerate(values):
        label = None if labels is None else float(labels[at])
        made.rows += 1
        made.add(mark(repr(row).encode()), Row(tuple(row), label, at))
        made.spans(row, row, [0] * len(names))
    if labels is not None and classes:
        made.count(f"{label:g}" for label in labels)
    return made


def profiled(*streams, step=50):
    """Of (name, phase, sample, what else is known)."""
    profiles = tuple(
        summarise(made, name, phase=phase, model=1, **{"dtype": "float32", **known})
        for name, phase, made, known in streams
    )
    overlaps = tuple(
        both
        for first, phase, one, _ in streams
        for second, other, two, _ in streams
        if (phase, other) == ("training", "evaluation") and (both := overlap(one, two, (first, second)))
    )
    return DataProfiled(step=step, profiles=profiles, overlaps=overlaps)


def run(train, val, *more, reason="finished", **known):
    """One profile of training and evaluation, and the end."""
    streams = [("`x`", "training", train, known), ("`vx`", "evaluation", val, {"length": val.rows})]
    return [profiled(*streams), *more, RunEnded(step=60, reason=reason)]
