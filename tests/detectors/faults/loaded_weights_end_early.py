"""A table of vectors of which only the first rows were written."""

from dataclasses import replace

from premortem.events import Event, FileLoaded, Site, StateLoaded

AT = Site("train.py", 12)
FILE = FileLoaded(at=AT, path="/runs/vectors.pt", keys=("emb.weight",), tensors=1)
LOADED = StateLoaded(
    at=AT,
    target="module",
    key=1,
    name="model",
    strict=True,
    given=1,
    wanted=1,
    matched=1,
    empty=("emb.weight",),
)
EVENTS: list[Event] = [FILE, LOADED]
HEALTHY: list[list[Event]] = [
    [FILE, replace(LOADED, empty=())],
    [LOADED],  # the script's own state, and no file
]
