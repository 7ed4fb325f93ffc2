"""The birth certificate of a value that is not finite, as a sentence."""

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
EXPONENTIAL = frozenset({"exp", "exp2", "expm1", "cosh", "sinh", "to"})
# What keeps the operand of each where the operation is defined, and its derivative too.
_GUARDS = {
    "log": "Give it a number above 0: `x.clamp(min=eps).log()`, or `log_softmax`, `logsigmoid`, `xlogy` where they fit.",
    "log1p": "Keep its operand above -1: `x.clamp(min=-1 + eps).log1p()`.",
    "sqrt": "Keep its operand above 0: `x.clamp(min=eps).sqrt()`; below it has no root, and at 0 its derivative is infinite.",
    "rsqrt": "Keep its operand above 0: `x.clamp(min=eps).rsqrt()`.",
    "norm": "Add a small number before the root, `(x.square().sum(-1) + eps).sqrt()`, or keep vectors of 0 out of it.",
    "div": "Keep the divisor away from 0: `x / (n + eps)` or `n.clamp(min=eps)`.",
    "reciprocal": "Keep the divisor away from 0: `1 / (n + eps)` or `n.clamp(min=eps)`.",
    "acos": "Keep its operand inside: `x.clamp(-1 + eps, 1 - eps)`, or use `atan2`.",
    "asin": "Keep its operand inside: `x.clamp(-1 + eps, 1 - eps)`, or use `atan2`.",
    "atanh": "Keep its operand inside: `x.clamp(-1 + eps, 1 - eps)`.",
    "acosh": "Keep its operand above 1: `x.clamp(min=1 + eps)`.",
    "logit": "Keep its operand inside: `torch.logit(x, eps=1e-6)`.",
    "pow": "Keep the base above 0: `x.clamp(min=eps) ** p`.",
    "std": "Ask for it only where there are two values or more, and add a small number where all may be equal.",
    "var": "Ask for it only where there are two values or more.",
    "softmax": "Leave out rows in which everything is masked, or mask with a large finite number.",
    "log_softmax": "Leave out rows in which everything is masked, or mask with a large finite number.",
    "nll_loss": "Leave out batches in which no target counts, or sum up and divide by `n.clamp(min=1)`.",
    "mean": "Leave out what is empty, or sum up and divide by `n.clamp(min=1)`.",
    "empty": "Fill it: `torch.zeros` instead of `torch.empty`, or write all of it before it is read.",
}
_STABLE = "Use log_softmax, logsumexp or softplus instead of exp, or clamp what goes into it."
_GROWN = "Find what makes the numbers grow: use a stable form of the loss, scale the data, or a wider type."
_ELSE = "Keep the operand away from where the operation, or its derivative, has no finite value (clamp, eps)."
_BATCH = "Check the data with torch.isfinite where it is read, and drop or impute the bad rows."
_NUMBER = "Print the number where it is computed: a weight, a schedule or a scale that has left its range."


def sentence(origin: NonFinite) -> str:
    """`the logarithm of 0 at train.py:41 made -inf (in model.scale, sample 17 of 64, float32, operand 0 … 3.2)`."""
    if origin.stage == "data":
        held = f"{data(origin)} holds {origin.made or 'NaN or infinity'}"
        which = samples(origin)
        return f"{held} ({which})" if which else held
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
    which = samples(origin)
    if which:
        facts.append(which)
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
    """ "sample 17 of 64, `Readings[4711]`"; "" when it is not known which."""
    facts = []
    if origin.rows:
        numbers = ", ".join(map(str, origin.rows))
        whole = f" of {origin.samples}" if origin.samples else ""
        facts.append(f"{'sample' if len(origin.rows) == 1 else 'samples'} {numbers}{whole}")
    if origin.source is not None:
        named = [f"`{origin.source.dataset}[{index}]`" for index in origin.source.indices]
        facts.append(", ".join(each for each in named if each != f"`{origin.what}`"))
    return ", ".join(fact for fact in facts if fact)


def known(origin: NonFinite | None) -> bool:
    """Whether it is the origin for certain, and not perhaps an echo: fit to be reported after a single sighting."""
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
        "indices": list(origin.source.indices) if origin.source is not None else [],
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


def advice(origin: NonFinite | None) -> str:
    """What to change at that place."""
    if origin is None or not origin.op:
        return _BATCH if origin is not None and origin.stage == "data" else _ELSE
    if origin.stage == "data":
        return _NUMBER if origin.what == "constant" else _BATCH
    if origin.op in EXPONENTIAL:
        return _STABLE
    if origin.overflow:
        return _GROWN
    return _GUARDS.get(origin.op, _ELSE)
