"""A resume that forgot nothing; each fault changes one thing of it."""

from premortem.events import Resumed, Site

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
