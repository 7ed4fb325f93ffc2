"""A clip of frames that is put into channels_last."""

from premortem.events import Event, RunEnded, ShapesMet, Site

AT = Site("train.py", 66, "train")
REFUSED = "required rank 4 tensor to use channels_last format"

EVENTS: list[Event] = [
    ShapesMet(at=AT, names=(("blur", (4, 5, 1, 32, 32)), ("mask", (4, 1, 32, 32)))),
    RunEnded(at=AT, reason="crashed", error="RuntimeError", message=REFUSED),
]

HEALTHY: list[list[Event]] = [
    [RunEnded(reason="finished")],
    # another error at a line that names a clip
    [EVENTS[0], RunEnded(at=AT, reason="crashed", error="RuntimeError", message="out of patience")],
    # caught by the script, which went on
    [EVENTS[0], RunEnded(at=AT, reason="exited", message=REFUSED)],
]
