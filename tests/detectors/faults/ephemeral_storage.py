"""A Colab session without a drive."""

from premortem.events import Event, Site, StorageSeen

AT = Site("train.py", 40)

EVENTS: list[Event] = [
    StorageSeen(
        step=1,
        at=AT,
        path="/content",
        kind="a Colab session, outside Google Drive",
        certain=True,
        mirrored=False,
    ),
    StorageSeen(
        step=9,
        at=AT,
        path="/content/x",
        kind="a Colab session, outside Google Drive",
        certain=True,
        mirrored=False,
    ),
]

HEALTHY: list[Event] = [
    StorageSeen(
        step=1,
        at=AT,
        path="/content",
        kind="a Colab session, outside Google Drive",
        certain=True,
        mirrored=True,
    ),
]
