"""`best_model = model` when the loss is lower than ever, and training goes on."""

from premortem.events import AliasKept, Event, OptimizerStep, Site

EVENTS: list[Event] = [
    AliasKept(step=17, at=Site("train.py", 52, "fit"), kept="best_model", source="model", model=1)
]

HEALTHY: list[list[Event]] = [[OptimizerStep(step=17, optimizer=1, kind="SGD", lrs=(0.1,))]]
