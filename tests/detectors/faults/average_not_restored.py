"""The averaged model is a copy of the plain one that was just restored."""

from dataclasses import replace

from premortem.events import Event, Resumed, Site

RESUMED = Resumed(
    step=0,
    at=Site("train.py", 31, "main"),
    path="/runs/last.pt",
    optimizer=1,
    kind="AdamW",
    parameters=4,
    restored=True,
    entries=4,
    counters=(("epoch", 5),),
    reached=(("epoch", 6),),
    saved_rates=(0.001,),
    rates=(0.001,),
)
EVENTS: list[Event] = [replace(RESUMED, averaged="ema", average="ema.model")]

HEALTHY: list[list[Event]] = [
    [RESUMED],
    [replace(RESUMED, averaged="ema", average="ema.model", restored=False)],
]
