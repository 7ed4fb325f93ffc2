"""The scale had come down to 512."""

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
EVENTS: list[Event] = [replace(RESUMED, saved_scale=512.0, scale=65536.0)]

HEALTHY: list[list[Event]] = [
    [replace(RESUMED, saved_scale=512.0, scale=512.0)],
    [replace(RESUMED, saved_scale=65536.0, scale=131072.0)],
    [replace(RESUMED, saved_scale=512.0, scale=None)],  # trained on in another precision
    [replace(RESUMED, saved_scale=512.0, scale=65536.0, restored=False)],
]
