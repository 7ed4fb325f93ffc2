"""How detectors speak of many parameters in few words."""

from __future__ import annotations

from collections.abc import Iterable


def count(number: int, noun: str) -> str:
    """ "1 parameter", "3 parameters"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def place(names: Iterable[str]) -> str:
    """The part of the model that all these parameters are in: "model.head" for its weight and bias."""
    split = [name.split(".") for name in names]
    if not split:
        return ""
    if len(split) == 1:
        return ".".join(split[0])
    shared = []
    for parts in zip(*split, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return ".".join(shared)


def some(names: Iterable[str], most: int = 3) -> str:
    """The first names, and how many more there are."""
    every = list(names)
    head = ", ".join(f"`{name}`" for name in every[:most])
    return head if len(every) <= most else f"{head} and {len(every) - most} more"


def parameters_of(names: list[str]) -> str:
    """ "the 4 parameters of `model.head`", or the names where they share nothing."""
    if len(names) == 1:
        return f"`{names[0]}`"
    where = place(names)
    return f"the {len(names)} parameters of `{where}`" if where else some(names)
