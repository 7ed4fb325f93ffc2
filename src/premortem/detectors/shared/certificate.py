"""The birth certificate of a value that is not finite, as a sentence."""

from __future__ import annotations

from typing import Any

from premortem.events import NonFinite
from premortem.findings import Certainty

_MOST_OPERANDS = 2  # of an operation that a sentence can hold
_DATA = {
    "input": "the input",
    "target": "the target",
    "batch": "a tensor of the batch",
    "constant": "a constant",
}


def sentence(origin: NonFinite) -> str:
    """`the logarithm of 0 at train.py:41 made -inf (in model.scale, sample 17 of 64, float32, operand 0 … 3.2)`."""
    if origin.stage == "data":
        held = f"{data(origin)} holds {origin.made or 'NaN or infinity'}"
        return f"{held} ({samples(origin)})" if origin.rows else held
    made = f" made {origin.made}" if origin.made else ""
    line = f" at {origin.at}" if origin.located and origin.at is not None else ""
    if line and origin.stage == "backward":
        line, made = "", f"{made} in the backward pass of {origin.at}"
    facts = ", ".join(_facts(origin))
    return f"{origin.detail}{line}{made}{f' ({facts})' if facts else ''}"


def _facts(origin: NonFinite) -> list[str]:
    facts = []
    if origin.module:
        facts.append(f"in {origin.module}")
    if origin.rows:
        facts.append(samples(origin))
    if origin.dtype:
        facts.append(origin.dtype)
    shown = origin.operands[:_MOST_OPERANDS]
    if shown:
        facts.append(f"operand{'s' * (len(shown) > 1)} {' and '.join(str(operand) for operand in shown)}")
    return facts


def data(origin: NonFinite) -> str:
    """ "the input", or the variable that holds it."""
    return _DATA.get(origin.what, f"`{origin.what}`")


def samples(origin: NonFinite) -> str:
    """ "sample 17 of 64"."""
    numbers = ", ".join(map(str, origin.rows))
    whole = f" of {origin.samples}" if origin.samples else ""
    return f"{'sample' if len(origin.rows) == 1 else 'samples'} {numbers}{whole}"


def known(origin: NonFinite | None) -> bool:
    """Whether it is the origin for certain, and not perhaps an echo: fit to be told after a single sighting."""
    return origin is not None and (
        origin.stage == "data" or origin.watched or (origin.sure and bool(origin.detail))
    )


def certainty(origin: NonFinite | None) -> Certainty:
    return Certainty.PROVED if origin is not None and origin.watched else Certainty.MEASURED


def evidence(origin: NonFinite | None) -> dict[str, Any]:
    """What the finding keeps of it, for the report and for machines."""
    if origin is None:
        return {}
    facts: dict[str, Any] = {
        "op": origin.op,
        "stage": origin.stage,
        "made": origin.made,
        "dtype": origin.dtype,
        "rows": list(origin.rows),
        "samples": origin.samples,
        "operands": [
            {"name": o.name, "dtype": o.dtype, "shape": list(o.shape), "low": o.low, "high": o.high}
            for o in origin.operands
        ],
    }
    return {name: fact for name, fact in facts.items() if fact}


def blame(origin: NonFinite | None) -> dict[str, Any]:
    """The place and the evidence of a finding that this origin explains, as `Detector.finding` takes them."""
    if origin is None:
        return {}
    return {"at": origin.at, "module": origin.module or None, **evidence(origin)}


def birth(origin: NonFinite | None) -> str:
    """The sentence as the last part of another one."""
    return f"; {sentence(origin)}" if origin is not None else ""
