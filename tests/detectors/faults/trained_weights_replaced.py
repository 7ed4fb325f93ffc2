"""Two epochs with an evaluation after each; then the file of an earlier run is loaded, and evaluated."""

from dataclasses import replace

from premortem.events import (
    Event,
    Forward,
    ModelSeen,
    OptimizerStep,
    Parameter,
    RunEnded,
    Site,
    StateLoaded,
    WeightsReplaced,
)

SEEN = ModelSeen(model=1, name="model", kind="Net", parameters=(Parameter(1, "model.weight", (4, 4), True),))
TRAINS = Forward(model=1, grad=True, training=True, noisy_train=0, noisy_eval=0, samples=8)
EVALUATES = replace(TRAINS, grad=False, training=False)
STEP = OptimizerStep(step=1, optimizer=1, kind="AdamW", lrs=(0.001,))
LOADED = StateLoaded(
    step=2, target="module", key=1, name="model", strict=True, given=1, wanted=1, matched=1, parameters=(1,)
)
REPLACED = WeightsReplaced(
    step=2,
    at=Site("train.py", 40, "main"),
    model=1,
    name="model",
    path="/runs/best.pt",
    written=1.7e9,
    parameters=(1,),
    saved_by=Site("train.py", 31, "main"),
    called=True,
    kept=False,
)
NO_LINE = replace(REPLACED, saved_by=None)
LATER = replace(EVALUATES, step=2)  # than the second and last step


def epoch(number: int) -> list[Event]:
    after = replace(EVALUATES, step=number)
    return [replace(TRAINS, step=number - 1), replace(STEP, step=number), after, after]


def run(*after: Event, before: tuple[Event, ...] = (), replaced: Event = REPLACED) -> list[Event]:
    return [SEEN, *epoch(1), *epoch(2), *before, LOADED, *after, replaced, RunEnded(step=2)]


EVENTS: list[Event] = run(LATER)

HEALTHY: list[list[Event]] = [
    run(),  # nothing uses it
    [*run(LATER)[:-2], RunEnded(step=2)],  # it was trained on, or loaded over, or this run wrote the file
    run(LATER, before=(LATER, LATER)),  # its own weights were evaluated for themselves
    run(LATER, replaced=NO_LINE),  # a remark
    run(LATER, replaced=replace(NO_LINE, kept=True)),  # it lies in another file: two models are compared
    [*run(LATER)[:-1], RunEnded(step=2, reason="interrupted")],
    run(replace(LATER, model=2)),  # of another model
]
