"""What an audit has seen, in few numbers: one for each layer, and the newest chain of custody.

Made in the writer's time, not in the run's. Parameters are summed up into layers, and layers into the modules
around them, until there are few enough to be looked at.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from premortem.events import Custody, LayerStats, Link

MOST_LAYERS = 96
MOST_LINKS = 2000


class Layers(NamedTuple):
    """One measure of all layers at one step."""

    step: int
    what: str  # "gradient", "ratio" or "dead"
    values: dict[str, float]


def of_custody(event: Custody) -> list[Layers]:
    """Gradient norms, and how far the step moved the weights relative to their size."""
    links = [link for link in event.links if link.trainable and event.optimizer in (link.owners or (0,))]
    names = layer_names([link.name for link in links])
    gradient: dict[str, float] = defaultdict(float)
    update: dict[str, float] = defaultdict(float)
    weight: dict[str, float] = defaultdict(float)
    for link, name in zip(links, names, strict=True):
        if link.gradient is not None:
            gradient[name] += link.gradient * link.gradient
        if link.update is not None and link.weight is not None:
            update[name] += link.update * link.update
            weight[name] += link.weight * link.weight
    ratios = {name: math.sqrt(update[name] / weight[name]) for name in update if weight[name]}
    found = [
        Layers(event.step, "gradient", {name: math.sqrt(value) for name, value in gradient.items()}),
        Layers(event.step, "ratio", ratios),
    ]
    return [each for each in found if each.values]


def of_layers(events: Sequence[LayerStats]) -> Layers | None:
    """Dead units of the activations of one training forward, in the order in which they ran.

    An activation is measured where its function runs; the module that called it names the place right after."""
    count = 0
    dead: dict[str, float] = {}
    for event, after in zip(events, [*events[1:], None], strict=True):
        if not event.grad or not event.kind.startswith("relu"):
            continue
        count += 1
        named = after is not None and after.kind == "ReLU" and after.order < 0
        name = after.layer if after is not None and named else f"{event.layer} {event.kind} {count}"
        if len(dead) < MOST_LAYERS:
            dead[name] = event.dead
    # They ran while the step after the last finished one was being made.
    return Layers(events[0].step + 1, "dead", dead) if dead else None


def layer_names(parameters: Sequence[str]) -> list[str]:
    """`model.block.conv.weight` belongs to `model.block.conv`; in a deep model to `model.block`."""
    names = [name.rpartition(".")[0] or name for name in parameters]
    depth = max((name.count(".") + 1 for name in names), default=1)
    while len(set(names)) > MOST_LAYERS and depth > 1:
        depth -= 1
        names = [".".join(name.split(".")[:depth]) for name in names]
    return names


def custody(event: Custody) -> dict[str, Any]:
    """Each parameter's links, as short as they can be written. Those of which something is missing come first."""
    links = sorted(event.links, key=lambda link: not _missing(link))
    return {
        "step": event.step,
        "optimizer": event.optimizer,
        "parameters": len(event.links),
        "strangers": len(event.strangers),
        "links": [
            {
                "name": link.name,
                "size": link.numel,
                "trainable": link.trainable,
                "ran": link.ran,
                "reached": link.reached,
                "graded": link.graded,
                "owned": bool(link.owners),
                "moved": link.moved,
                "gradient": link.gradient,
                "weight": link.weight,
                "update": link.update,
            }
            for link in links[:MOST_LINKS]
        ],
    }


def _missing(link: Link) -> bool:
    chain = (link.ran, link.reached, link.graded, bool(link.owners), link.moved is not False)
    return link.trainable and not all(chain)


def parameters(model: Iterable[Any]) -> Mapping[str, int]:
    """Of `ModelSeen`: how many there are, instead of each."""
    tensors = elements = trainable = 0
    for parameter in model:
        size = math.prod(parameter.shape)
        tensors += 1
        elements += size
        trainable += size if parameter.trainable else 0
    return {"tensors": tensors, "elements": elements, "trainable": trainable}
