"""A bit of the file turned over on the disk."""

from premortem.events import Event, FileLoaded, LoadChecked, Site

AT = Site("train.py", 12)

EVENTS: list[Event] = [
    FileLoaded(step=0, at=AT, path="last.pt", keys=("model", "optimizer"), tensors=8),
    LoadChecked(
        step=0,
        at=AT,
        path="last.pt",
        damaged="the record `data/3`: its checksum is 1f0c9a22, but 8c11d0e7 was written",
        kept="run/kept/last.pt-1f0c9a/000003-step-1200.pt",
        kept_step=1200,
    ),
]

HEALTHY: list[Event] = [FileLoaded(step=0, at=AT, path="last.pt", keys=("model", "optimizer"), tensors=8)]
