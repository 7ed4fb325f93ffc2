"""A run made of events alone, as the probes would send them: for the planted faults of detectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from premortem.events import (
    Backward,
    Custody,
    Detached,
    EpochEnded,
    EpochStarted,
    Event,
    Forward,
    GraphWalked,
    Group,
    LayerStats,
    Link,
    LossCall,
    ModelSeen,
    OptimizerBuilt,
    OptimizerStep,
    Parameter,
    RunEnded,
    SchedulerBuilt,
    SchedulerStep,
    Site,
    StepStats,
    ZeroGrad,
)


def line(number: int, function: str = "train") -> Site:
    return Site("/home/me/train.py", number, function)


def link(key: int, name: str, **facts: Any) -> Link:
    """A parameter in good order: it ran, it has a gradient, optimizer 1 holds it and has moved it."""
    good = {
        "model": 1,
        "numel": 64,
        "trainable": True,
        "ran": True,
        "ran_without_grad": False,
        "reached": True,
        "graded": True,
        "gradient": 0.1,
        "owners": (1,),
        "moved": True,
        "weight": 1.0,
        "update": 0.001,
        "loaded": False,
        "trained": False,
        "born_after": False,
        "hidden": "",
        "head": False,
    }
    return Link(key=key, name=name, **{**good, **facts})


def cut_off(key: int, name: str, **facts: Any) -> Link:
    """A parameter that no loss reaches."""
    return link(
        key,
        name,
        **{"reached": False, "graded": False, "gradient": None, "moved": False, "update": 0.0, **facts},
    )


def again(seen: Event, times: int) -> list[Event]:
    """The same, one step after the other."""
    return [replace(seen, step=seen.step + number) for number in range(times)]


class Rehearsal:
    """Collects events; `step` counts as it does in a run."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.step = 0
        self.value = 1.0
        self.steps: dict[int, int] = {}  # of each optimizer
        self.schedules: dict[int, SchedulerBuilt] = {}
        self.calls: dict[int, list[int]] = {}  # of each scheduler: how many steps its optimizer had made

    def add(self, event: Event) -> None:
        self.events.append(event)

    def model(self, *names: str, key: int = 1, name: str = "model", first: int = 1, **facts: Any) -> None:
        trainable = facts.pop("trainable", True)
        parameters = tuple(
            Parameter(first + i, f"{name}.{each}", (8, 8), trainable) for i, each in enumerate(names)
        )
        self.add(ModelSeen(step=self.step, model=key, name=name, kind="Net", parameters=parameters, **facts))

    def optimizer(
        self, *held: int, key: int = 1, kind: str = "Adam", at: int = 10, eps: float = 0.0, **facts: Any
    ) -> None:
        groups = (Group(0.001, 0.0, 0.9, held, eps),)
        self.add(
            OptimizerBuilt(step=self.step, at=line(at), optimizer=key, kind=kind, groups=groups, **facts)
        )

    def forward(self, model: int = 1, at: int = 20, **facts: Any) -> None:
        usual = {"grad": True, "training": True, "noisy_train": 0, "noisy_eval": 0, "samples": 32}
        self.add(Forward(step=self.step, at=line(at), model=model, **{**usual, **facts}))

    def loss(self, value: float | None = None, fn: str = "cross_entropy", at: int = 21, **facts: Any) -> None:
        self.value = self.value * 0.99 if value is None else value
        usual = {
            "grad": True,
            "training": True,
            "reduction": "mean",
            "input_shape": (32, 4),
            "target_shape": (32,),
        }
        self.add(LossCall(step=self.step, at=line(at), fn=fn, value=self.value, **{**usual, **facts}))

    def walk(self, *keys: int, at: int = 22, **facts: Any) -> None:
        usual = {"other_leaves": 0, "ops": ("NllLoss",)}
        self.add(GraphWalked(step=self.step, at=line(at), parameters=keys, **{**usual, **facts}))

    def backward(self, *optimizers: int, scale: float = 1.0, at: int = 22, **facts: Any) -> None:
        usual = {"value": self.value * scale, "root": "NllLoss"}
        reached = optimizers or (1,)
        self.add(Backward(step=self.step, at=line(at), optimizers=reached, scale=scale, **{**usual, **facts}))

    def zero(self, optimizer: int | None = 1, at: int = 19, **facts: Any) -> None:
        usual = {"cleared": (optimizer,) if optimizer else ()}
        self.add(ZeroGrad(step=self.step, at=line(at), optimizer=optimizer, **{**usual, **facts}))

    def stepped(self, optimizer: int = 1, kind: str = "Adam", at: int = 23, **facts: Any) -> None:
        self.step += 1
        self.steps[optimizer] = self.steps.get(optimizer, 0) + 1
        usual = {"lrs": (0.001,), "parameters": 2, "with_grad": 2, "backwards": 1, "pending": 1}
        usual["backward_sites"] = (line(22),)
        self.add(
            OptimizerStep(step=self.step, at=line(at), optimizer=optimizer, kind=kind, **{**usual, **facts})
        )

    def stats(self, loss: float | None = None, optimizer: int = 1, **facts: Any) -> None:
        """The numbers of the step that was just made."""
        usual = {"grad_norm": 1.0, "worst": None, "lr": 0.001}
        value = self.value if loss is None else loss
        self.add(StepStats(step=self.step, optimizer=optimizer, loss=value, **{**usual, **facts}))

    def custody(self, *links: Link, optimizer: int = 1, at: int = 10, **facts: Any) -> None:
        self.add(
            Custody(step=self.step, at=line(at), optimizer=optimizer, links=links, lrs=(0.001,), **facts)
        )

    def cut(self, op: str, *keys: int, at: int = 15, **facts: Any) -> None:
        self.add(
            Detached(step=self.step, at=line(at, "forward"), op=op, parameters=keys, shape=(32, 8), **facts)
        )

    def layer(self, layer: str, kind: str = "Linear", order: int = -1, **facts: Any) -> None:
        """One layer of a training forward, whose numbers are of ordinary size."""
        usual = {"model": 1, "last": False, "grad": True, "training": True, "samples": 32, "finite": True}
        sizes = {"mean": 0.0, "std": 1.0, "min": -3.0, "max": 3.0}
        usual.update({f"{side}_{name}": size for side in ("input", "output") for name, size in sizes.items()})
        self.add(LayerStats(step=self.step, layer=layer, kind=kind, order=order, **{**usual, **facts}))

    def schedule(self, kind: str, horizon: int | None = None, key: int = 1, **facts: Any) -> None:
        usual = {"optimizer": 1, "at": line(11)}
        built = SchedulerBuilt(
            step=self.step, scheduler=key, kind=kind, horizon=horizon, **{**usual, **facts}
        )
        self.schedules[key] = built
        self.add(built)

    def scheduled(self, before: float, after: float, key: int = 1, at: int = 24, **facts: Any) -> None:
        built = self.schedules[key]
        calls = self.calls.setdefault(key, [])
        made = self.steps.get(built.optimizer, 0)
        usual = {
            "scheduler": key,
            "optimizer": built.optimizer,
            "kind": built.kind,
            "horizon": built.horizon,
            "count": len(calls) + 1,
            "position": len(calls) + 1,
            "since_step": made - (calls[-1] if calls else 0),
            "optimizer_steps": made,
        }
        calls.append(made)
        self.add(SchedulerStep(step=self.step, at=line(at), before=before, after=after, **{**usual, **facts}))

    def epochs(self, count: int, batches: int) -> Iterator[int]:
        """Passes over loader 1, to be filled by the caller."""
        for number in range(count):
            self.add(EpochStarted(step=self.step, loader=1))
            yield number
            self.add(EpochEnded(step=self.step, loader=1, batches=batches))

    def batch(self, **facts: Any) -> None:
        """A whole step as it should be."""
        self.zero()
        self.forward()
        self.loss()
        self.backward()
        self.stepped(**facts)

    def end(self, **facts: Any) -> list[Event]:
        self.add(RunEnded(step=self.step, **facts))
        return self.events
