"""Whether a proposal makes the script better, or only the number. Pure."""

from premortem.why.order import Result
from premortem.why.yardsticks import loss_lines

_HALF = 0.5
_FEW = 0.1
_MOVED = 0.05  # of the first loss: the same weights and the same data give the same loss


def cheats(as_is: Result, changed: Result) -> str:
    """How it cheats; "" when it does not."""
    if changed.backwards < _HALF * as_is.backwards:
        return f"it makes {changed.backwards} backward passes instead of {as_is.backwards}"
    if changed.norms and as_is.norms and _still(changed) > _HALF > _still(as_is):
        return "its gradients are zero: the loss is skipped"
    if changed.constant > _HALF > as_is.constant:
        return "its output is the same for every sample"
    if changed.same_rows > _HALF and as_is.same_rows < _FEW:
        return f"it evaluates on samples that it trains on ({100 * changed.same_rows:.0f} % of them)"
    return ""


def only_prints(as_is: Result, changed: Result) -> bool:
    """Trained and evaluated as before, number for number: what a metric says of it is another one at most."""
    return list(as_is.losses.values()) == list(changed.losses.values()) and as_is.outputs == changed.outputs


def _still(result: Result) -> float:
    return sum(not each > 0 for each in result.norms) / len(result.norms)


def same_loss(as_is: Result, changed: Result) -> bool:
    """Whether the loss still measures the same: before anything was learned it has the value that it had."""
    before, after = _begin(as_is), _begin(changed)
    if before is None or after is None:
        return True
    return abs(after - before) <= _MOVED * max(abs(before), 1e-12)


def _begin(result: Result) -> float | None:
    lines = loss_lines(result)
    return result.losses[lines[0]][0] if len(lines) == 1 else None
