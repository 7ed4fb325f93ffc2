from itertools import zip_longest
from math import prod

from premortem.detectors.base import STILL, THRICE, Card, Detector, Findings, Severity
from premortem.detectors.shared.loss_calls import REGRESSING
from premortem.events import Event, GraphWalked, LossCall

_ELEMENTWISE = REGRESSING | {"poisson_nll_loss", "gaussian_nll_loss", "soft_margin_loss", "kl_div"}
_CAUSE = (
    "Every prediction is compared with every target of the batch, so the loss is smallest when all predictions are "
    "the mean of the targets."
)
_ONE = (
    "The model gave one prediction for the whole batch, and it is compared with every target: all it can learn is "
    "their mean."
)


class BroadcastInLoss(Detector):
    """Prediction and target have different shapes, and the loss compares every prediction with every target.

    ## Why it matters
    (N, 1) against (N,) is stretched to (N, N): each prediction is pulled towards all targets of the batch at once. The
    best it can do is their mean, and that is what the network learns. The loss still looks plausible.

    ## Usual causes
    A last layer with one output, (N, 1), and targets of shape (N,); `squeeze` on only one of the two; per-sample weights
    of another shape than the losses they weigh.

    ## What to do
    Make the shapes equal: `pred.squeeze(1)` or `target.unsqueeze(1)`. An `assert pred.shape == target.shape` in front of
    the loss costs nothing.

    ## When it stays silent
    Pairwise losses built on purpose: both sides are learned, one was given a dimension explicitly (`unsqueeze`, `view(-1, 1)` of (N,)), or the
    differences go into an `exp` (a kernel).
    """

    card = Card(
        "PM411", "broadcast-in-loss", "shape", Severity.ERROR, explains_here=("unscaled-targets",)
    ).explaining(
        *STILL, "uninformative-labels", "train-and-val-on-different-scales", "train-and-eval-inputs-differ"
    )
    listens = (LossCall, GraphWalked)

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LossCall) and event.fn in _ELEMENTWISE:
            yield from self._call(event)
        elif isinstance(event, GraphWalked):
            yield from self._graph(event)

    def _call(self, event: LossCall) -> Findings:
        given, wanted = event.input_shape, event.target_shape
        result = stretched(given, wanted, event.reduction) or one_for_all(given, wanted, event.grad)
        if result is None:
            if given == wanted and event.grad and max(given, default=1) > 1:
                self.always(event.at, so=False)
        # Three times, at a line that never did otherwise: the size of a batch may equal another one by chance.
        elif self.always(event.at, so=True) >= THRICE:
            yield self.last_word(
                event,
                f"{event.fn} compares predictions of shape {given} with targets of shape {wanted}, "
                f"stretched to {result}",
                cause=_CAUSE if prod(given) > 1 else _ONE,
                remedy="Give both the same shape: prediction.squeeze(-1), or target.unsqueeze(-1).",
                input_shape=given,
                target_shape=wanted,
                result=result,
                training=event.grad,
            )

    def _graph(self, event: GraphWalked) -> Findings:
        if self.always(event.at, bool(event.broadcasts)) < THRICE:
            return
        broadcast = event.broadcasts[0]
        yield self.last_word(
            event,
            f"in the loss, an output of shape {broadcast.inputs[0]} was stretched to {broadcast.result} "
            f"by `{broadcast.op}`",
            cause=_CAUSE if prod(broadcast.inputs[0]) > 1 else _ONE,
            remedy="Give prediction and target (and weights) the same shape before the loss is computed.",
            shape=broadcast.inputs[0],
            result=broadcast.result,
            op=broadcast.op,
        )


def stretched(given: tuple[int, ...], wanted: tuple[int, ...], reduction: str) -> tuple[int, ...] | None:
    """The common shape, when it is larger than both and the script did not ask for it.

    A table of all pairs is made on purpose by adding a dimension to each, or kept as a table (no reduction)."""
    if len(given) == len(wanted) or not given or not wanted or given[0] != wanted[0]:
        return None
    if reduction == "none" and max(len(given), len(wanted)) > 2:
        return None
    pairs = list(zip_longest(reversed(given), reversed(wanted), fillvalue=1))
    if any(a != b and 1 not in {a, b} for a, b in pairs):
        return None
    result = tuple(max(pair) for pair in reversed(pairs))
    return result if prod(result) > max(prod(given), prod(wanted)) else None


def one_for_all(given: tuple[int, ...], wanted: tuple[int, ...], learned: bool) -> tuple[int, ...] | None:
    """A single prediction (not a plain number) against many targets."""
    single = learned and len(given) > 0 and prod(given) == 1
    return wanted if single and prod(wanted) > 1 else None
