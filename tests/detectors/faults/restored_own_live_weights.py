"""`best = model.state_dict()`, restored thirty steps later."""

from dataclasses import replace

from premortem.events import CheckpointSaved, Event, Site, StateLoaded

AT = Site("train.py", 80)
RESTORED = StateLoaded(
    step=50,
    at=AT,
    target="module",
    key=1,
    name="model",
    strict=True,
    given=4,
    wanted=4,
    matched=4,
    aliased=4,
    taken_at=20,
)

EVENTS: list[Event] = [RESTORED]

HEALTHY: list[list[Event]] = [
    [replace(RESTORED, aliased=0, taken_at=None)],  # a deep copy
    [replace(RESTORED, taken_at=50)],  # what fits was filled in, right now
    [replace(RESTORED, aliased=1)],
    [CheckpointSaved(step=50, at=AT, path="last.pt", bytes=1, taken_at=50)],
    [CheckpointSaved(step=50, at=AT, path="last.pt", bytes=1, taken_at=0)],  # taken once to follow the model
    [CheckpointSaved(step=50, at=AT, path="last.pt", bytes=1)],
]
