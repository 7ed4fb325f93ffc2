from premortem.derived.windows import STEPPED, WindowEnded
from premortem.detectors.base import THRICE, TOO_LARGE, Card, Detector, Findings, Severity


class AccumulationDividedSometimes(Detector):
    """Some micro-batches of an accumulation window are divided by its length, and others are not.

    ## Why it matters
    All micro-batches of a window should weigh the same. An undivided one weighs k times as much as a divided one, so
    the step follows a few batches and nearly ignores the others.

    ## Usual causes
    - `loss = loss / k` inside an `if`: only on the last micro-batch, only in the first epoch, only under AMP
    - the division happens after `backward()` for some of them

    ## What to do
    Divide every micro-batch's loss by the length of its window, before `backward()`.

    ## When it stays silent
    When a shorter last window is divided by its own length, and when the weights are those of samples or
    tokens.
    """

    card = Card("PM132", "accumulation-divided-sometimes", "accumulation", Severity.ERROR).explaining(
        *TOO_LARGE,
        "accumulation-not-divided",
        "accumulation-window-broken",
        "train-and-val-on-different-scales",
        "clipped-hard-every-step",
    )
    listens = (WindowEnded,)

    def __init__(self) -> None:
        # optimizer, length -> the different ways in which windows of that length were weighted, with their number
        self._patterns: dict[tuple[int, int], dict[tuple[float, ...], int]] = {}

    def observe(self, event: WindowEnded) -> Findings:
        if event.end != STEPPED or not event.accumulates or event.touched:
            return
        length = len(event.micros)
        weights = tuple(weight for weight in event.weights if weight is not None)
        if len(weights) < length:
            if event.factors is None:
                return
            weights = tuple(event.factors)
        patterns = self._patterns.setdefault((event.optimizer, length), {})
        if len(patterns) < 16:
            patterns[weights] = patterns.get(weights, 0) + 1
        if sum(patterns.values()) >= THRICE and uneven(patterns) and self.once(event.optimizer):
            divided = sum(w < 1 for weights, n in patterns.items() for w in weights * n)
            total = length * sum(patterns.values())
            yield self.finding(
                event,
                f"{divided} of {total} micro-batches were divided by {length}, and {total - divided} were not",
                cause="an undivided micro-batch weighs as much as a whole window",
                remedy=f"divide the loss by {length} for every micro-batch, before backward()",
                at=event.site,
                divided=divided,
                undivided=total - divided,
                micro_batches=length,
            )


def uneven(patterns: dict[tuple[float, ...], int]) -> bool:
    """Weights are 1 or one divided by a whole number, and both occur."""
    weights = {weight for pattern in patterns for weight in pattern}
    parts = {weight for weight in weights if weight < 1}
    if 1.0 not in weights or len(parts) != 1:
        return False
    (part,) = parts
    whole = 0 < part < 0.6 and abs(1 / part - round(1 / part)) < 1e-3
    mixed = any(len(set(pattern)) > 1 for pattern in patterns)
    return whole and (mixed or min(patterns.values()) >= THRICE)
