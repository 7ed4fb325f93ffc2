from dataclasses import replace

from tests.detectors.flows import profiled, rows, run, sample
from tests.detectors.rehearsal import Rehearsal

FEW = rows(32) * 10
EVENTS = run(sample(FEW), sample(rows(400, 3)), total=1440)
MADE_UP = run(sample(FEW), sample(rows(400, 3)))  # a few points, and a dense grid


def several_models():
    """Rounds of self-training, of which the first has the few labels that there are."""
    play = Rehearsal()
    play.model("weight", key=7, first=71)
    play.optimizer(71, key=5)
    flows = [
        ("`x`", "training", sample(FEW), {"total": 1440}),
        ("`tx`", "evaluation", sample(rows(400, 3)), {"length": 400}),
    ]
    play.add(profiled(*flows))
    return [*play.events[:-1], _of_another_model(play.events[-1])]


def _of_another_model(event):
    first, judged = event.profiles
    return replace(event, profiles=(first, judged, judged._replace(model=7)))


MANY_MODELS = several_models()
# Both are of few different rows, of which the training has many more.
ALIKE = rows(40)
HEALTHY = [
    run(sample(ALIKE * 30), sample((ALIKE * 10)[:300]), total=2000),
    run(sample(rows(400) * 4), sample(rows(100, 3))),
    run(sample(FEW), sample(rows(100, 3))),
    run(sample(rows(32)), sample(rows(400, 3))),  # the first pass is not over
    [
        profiled(
            ("labelled", "training", sample(FEW), {}),
            ("others", "training", sample(rows(300, 5)), {}),
            ("vx", "evaluation", sample(rows(400, 3)), {"length": 400}),
        )
    ],
]
