from premortem.detectors.base import Card, Finding, Severity
from premortem.detectors.shared.loss_calls import REGRESSING, SQUASHED, JudgesLossCalls
from premortem.events import LossCall

_INFINITE = float("inf")
_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("relu", "softplus", "exp"), (0.0, _INFINITE)),
    **dict.fromkeys(SQUASHED, (0.0, 1.0)),
    "tanh": (-1.0, 1.0),
}


class TargetOutOfReach(JudgesLossCalls):
    """The last activation can only give numbers from a range in which a large part of the targets does not lie.

    ## Why it matters
    No weights exist that would fit the data. The network ends at the edge of its range, where the activation is flat
    and gradients vanish, and the loss stays where it is.

    ## Usual causes
    ReLU or sigmoid after the last layer of a regression on standardised targets; sigmoid with images scaled to [-1, 1];
    tanh with pixels from 0 to 255.

    ## What to do
    Drop the last activation, choose one whose range holds the targets, or scale the targets into its range.

    ## When it stays silent
    A few targets beyond the edge, where noise puts them.
    """

    card = Card(
        "PM406", "target-out-of-reach", "loss-definition", Severity.ERROR, explains_here=("unscaled-targets",)
    ).explaining(
        "saturated-activations",
        "dead-units",
        "vanishing-gradients",
        "updates-too-small",
        "uninformative-labels",
    )
    calls = 6  # over which one odd batch of targets does not decide

    def wrong(self, event: LossCall) -> str | None:
        bounds = _RANGES.get(event.input_op)
        if event.fn not in REGRESSING or not event.grad or event.target_mean is None or event.target_grad:
            return ""
        # Features of another network are not targets in this sense; what was read from the data is.
        if bounds is None or not (event.target_is_data or event.target_is_input):
            return ""
        return f"values from {bounds[0]:g} to {bounds[1]:g}" if outside(event, *bounds) else None

    def found(self, event: LossCall, wrong: str) -> Finding:
        return self.last_word(
            event,
            f"the output ends in {event.input_op} ({wrong}), but the targets lie from {event.target_min:.3g} to "
            f"{event.target_max:.3g} (mean {event.target_mean:.3g})",
            cause="The output cannot reach a large part of the targets, whatever the weights are.",
            remedy=f"Remove the {event.input_op} after the last layer, or scale the targets into its range.",
            input_op=event.input_op,
            target_min=event.target_min,
            target_max=event.target_max,
            target_mean=event.target_mean,
        )


def outside(event: LossCall, low: float, high: float) -> bool:
    """A large part of the targets, not only a tail of noise."""
    lowest, highest = event.target_min, event.target_max
    mean, spread = event.target_mean, event.target_std
    if lowest is None or highest is None or mean is None or spread is None:
        return False
    margin = 0.25 * (highest - lowest)
    below = lowest < low - margin and mean - 0.5 * spread < low
    above = highest > high + margin and mean + 0.5 * spread > high
    return below or above or mean < low - spread or mean > high + spread
