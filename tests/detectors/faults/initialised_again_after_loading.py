"""A restored flow whose layers initialise themselves on their first batch, again."""

from premortem.events import Event, InitialisedAgain, Site, StateLoaded

AT = Site("train.py", 90, "main")
LOADED = StateLoaded(
    step=0, at=AT, target="module", key=1, name="flow", strict=True, given=4, wanted=4, matched=4
)
EVENTS: list[Event] = [
    LOADED,
    InitialisedAgain(
        step=0,
        at=AT,
        model=1,
        name="flow",
        layer="transforms.0",
        flag="initialized",
        parameters=("log_scale", "shift"),
        layers=4,
    ),
]
HEALTHY: list[Event] = [LOADED]
