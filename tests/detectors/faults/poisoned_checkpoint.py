"""The weights are NaN when the checkpoint of the epoch is saved."""

from premortem.events import Event, SaveChecked, Site

AT = Site("train.py", 40)

EVENTS: list[Event] = [
    SaveChecked(step=10, at=AT, path="last.pt", weights=4),
    SaveChecked(step=20, at=AT, path="last.pt", weights=4, poisoned=("fc.weight", "fc.bias"), overwrote=True),
    SaveChecked(step=30, at=AT, path="last.pt", weights=4, poisoned=("fc.weight", "fc.bias")),
]

HEALTHY: list[Event] = [
    SaveChecked(step=10 * n, at=AT, path="last.pt", weights=4, overwrote=n > 1) for n in range(1, 4)
]
