"""Batches as JSON and tensors: any nesting of lists, dicts and tensors, without a pickle.

What is not plain (a class of the user's that holds tensors) is kept by its fields; putting it together again needs an
object of that class, which the script itself provides when it draws a batch.
"""

import copy
from collections.abc import Mapping
from typing import Any

import torch

_DEPTH = 12
_PLAIN = (str, int, float, bool, type(None))


def pack(thing: Any, name: str, tensors: dict[str, torch.Tensor], depth: int = 0) -> Any:
    """A JSON node for `thing`; its tensors go into `tensors` under names that start with `name`."""
    if isinstance(thing, torch.Tensor):
        tensors[name] = thing
        return {"tensor": name}
    if type(thing).__name__ == "ndarray" and thing.dtype.kind in "fiub":
        tensors[name] = torch.from_numpy(thing.copy())
        return {"array": name}
    if isinstance(thing, _PLAIN):
        return {
            "value": thing.hex() if isinstance(thing, float) else thing,
            "float": isinstance(thing, float),
        }
    if depth >= _DEPTH:
        return {"lost": type(thing).__name__}
    if isinstance(thing, (list, tuple)):
        kind = "fields" if hasattr(thing, "_fields") else "tuple" if isinstance(thing, tuple) else "list"
        return {kind: [pack(item, f"{name}.{i}", tensors, depth + 1) for i, item in enumerate(thing)]}
    if isinstance(thing, Mapping):
        items = [
            [key, pack(item, f"{name}.{i}", tensors, depth + 1)]
            for i, (key, item) in enumerate(thing.items())
            if isinstance(key, (str, int))
        ]
        return {"dict" if type(thing) is dict else "mapping": items}
    if hasattr(thing, "__dict__") and not callable(thing):
        items = [[key, pack(item, f"{name}.{key}", tensors, depth + 1)] for key, item in vars(thing).items()]
        return {"object": items}
    return {"lost": type(thing).__name__}


def unpack(node: Any, tensors: Mapping[str, torch.Tensor], template: Any = None) -> Any:
    """The batch again. `template` is a batch of the script's own, for classes that JSON does not know."""
    ((kind, held), *_rest) = node.items()
    if kind == "tensor":
        return tensors[held].clone()
    if kind == "array":
        return tensors[held].clone().numpy()
    if kind == "value":
        return float.fromhex(held) if node["float"] else held
    if kind in {"list", "tuple", "fields"}:
        items = [unpack(item, tensors, _part(template, i)) for i, item in enumerate(held)]
        if kind == "fields" and hasattr(template, "_fields"):
            return type(template)(*items)
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {key: unpack(item, tensors, _part(template, key)) for key, item in held}
    if kind == "mapping":
        made: Any = copy.copy(template) if isinstance(template, Mapping) else {}
        for key, item in held:
            made[key] = unpack(item, tensors, _part(template, key))
        return made
    if kind == "object" and template is not None:
        made = copy.copy(template)
        vars(made).update({key: unpack(item, tensors, getattr(template, key, None)) for key, item in held})
        return made
    return template


def kinds(node: Any) -> set[str]:
    """Everything a node is made of: `mapping`, `object` and `lost` need a template."""
    kind, held = next(iter(node.items()))
    if kind in {"list", "tuple", "fields"}:
        return {kind}.union(*map(kinds, held))
    if kind in {"dict", "mapping", "object"}:
        return {kind}.union(*(kinds(item) for _, item in held))
    return {kind}


def _part(template: Any, key: Any) -> Any:
    try:
        return template[key]
    except (KeyError, IndexError, TypeError):
        return None
