"""Two layers of one shape have changed places since the file was written."""

from premortem.events import Event, Misplaced, OptimizerStep, Site, StateMisplaced

STEP = OptimizerStep(step=1, optimizer=1, kind="AdamW", lrs=(0.1,))

EVENTS: list[Event] = [
    StateMisplaced(
        at=Site("train.py", 31),
        optimizer=1,
        kind="AdamW",
        pairs=(Misplaced("up.weight", "down.weight"), Misplaced("down.weight", "up.weight")),
        total=6,
        known_by="names",
    ),
    STEP,
]

HEALTHY: list[Event] = [STEP]
