"""How detectors speak of many parameters in few words."""

from collections.abc import Iterable
from typing import Any

from premortem.amounts import some


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


def where(names: list[str]) -> dict[str, Any]:
    """The module and the first parameter, as `Detector.finding` takes them."""
    module = place(names) if len(names) > 1 else names[0].rpartition(".")[0]
    return {"module": module, "parameter": names[0]}


def parameters_of(names: list[str]) -> str:
    """ "the 4 parameters of `model.head`", or the names where they share nothing."""
    if len(names) == 1:
        return f"`{names[0]}`"
    where = place(names)
    return f"the {len(names)} parameters of `{where}`" if where else some(names)
