from premortem.detectors.base import THRICE, TWICE, Card, Detector, Finding, Findings, Severity
from premortem.events import Custody, Event, GraphWalked, LossCall, OptimizerBuilt, OptimizerStep, Site

_NEAR = 1e-3  # relative: the rest of a loss in float32 has lost some of its digits


class TermWithoutAGraph(Detector):
    """A loss is computed of numbers that no parameter has made, and added to the one that is trained: that term trains nothing.

    ## Why it matters
    The total is printed and falls, because its other terms do. The term that was to teach something (a teacher's answers, a consistency)
    has no gradient: the training is the same without it.

    ## Usual causes
    `autograd.grad` without `create_graph=True`, for a gradient penalty or a force. `p.data` or `p.detach()` in a penalty on weights. The teacher's scores given twice, in place of the student's; `detach()` or `no_grad` around the wrong one of the two.

    ## What to do
    Compute the term of the output of the model that is trained; what is computed of a gradient needs `create_graph=True`, and a penalty
    on weights the parameters themselves: `p.abs().sum()`.

    ## How it is measured
    In the first two steps each operation is followed from what `autograd.grad` gave, and from weights that are read without a graph, to the sum that is the loss. For loss functions: with gradients on, a loss function is called with two tensors of which neither has a graph, in steps whose loss is a sum with a number that has
    none either. That number, which is the loss less its other terms, is what the call gave times one and the same factor, in three steps in
    which the call gave different numbers.

    ## When it stays silent
    In evaluations and under `no_grad`; for penalties on weights that the optimizer decays, or the script itself moves (a threshold after
    each step): then the term only shows what they do; for a line whose term has a graph in any step; for what is only printed, beside a loss that begins with
    0 or has a margin; for losses of which another term is not what a loss function gave (a penalty on weights), for two such terms, and
    for a factor that changes.
    """

    card = Card("PM160", "term-without-a-graph", "grad-flow", Severity.WARNING)
    listens = (LossCall, GraphWalked, OptimizerBuilt, OptimizerStep, Custody)

    def __init__(self) -> None:
        self._aside: dict[Site | None, LossCall] = {}  # since the last backward pass
        self._pairs: dict[
            Site | None, list[tuple[float, float]]
        ] = {}  # what it gave, and the rest of the loss

        self._of_weights: dict[Site, int] = {}  # step in which a penalty was computed of them
        self._shrunk = False  # by a decay, or by hand

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LossCall):
            if event.grad or event.target_grad:
                self.once(("with a graph", event.at))
            elif event.aside and event.reduction != "none":
                self._aside[event.at] = event
        elif isinstance(event, GraphWalked):
            aside, self._aside = self._aside, {}
            if event.plain_gradients is not None and self.once(("gradients", event.plain_gradients)):
                yield self._of_gradients(event, event.plain_gradients)
            if event.plain_weights is not None:
                self._of_weights.setdefault(event.plain_weights, event.step)
            for at, call in aside.items():
                if event.rest is None or self.said(("with a graph", at)):
                    continue
                pairs = self._pairs.setdefault(at, [])
                if len(pairs) < THRICE:
                    pairs.append((call.value or 0.0, event.rest))
                if len(pairs) == THRICE and is_a_term(pairs) and self.once(at):
                    yield self.finding(
                        call,
                        f"`{call.fn}` is given two tensors without a graph, and the loss is a sum with a number that has none: this term trains nothing",
                        cause="Neither of the two depends on a parameter that is trained.",
                        remedy="Give it the output of the model that is trained.",
                        function=call.fn,
                    )
        elif isinstance(event, OptimizerBuilt):
            self._shrunk = self._shrunk or any(group.weight_decay for group in event.groups)
        elif isinstance(event, Custody):
            self._shrunk = self._shrunk or any(link.shifted for link in event.links)
            for at, step in self._of_weights.items():
                if event.step - step > THRICE and not self._shrunk and self.once(("weights", at)):
                    yield self._of_a_penalty(event, at)
        else:
            self._aside = {}

    def _of_gradients(self, event: GraphWalked, at: Site) -> Finding:
        return self.finding(
            event,
            f"a term of the loss is computed of what `autograd.grad` gives at {at}, without a graph: this term trains nothing",
            cause="`autograd.grad` was called without `create_graph=True`, so its results are numbers that depend on no parameter.",
            remedy="Call `torch.autograd.grad(..., create_graph=True)`.",
            at=at,
        )

    def _of_a_penalty(self, event: Custody, at: Site) -> Finding:
        return self.finding(
            event,
            f"a term of the loss is computed of weights that are read without a graph at {at}: this penalty has no effect",
            cause="`p.data` and `p.detach()` are numbers that depend on no parameter, so the penalty has no gradient.",
            remedy="Compute it of the parameters themselves: `p.abs().sum()` in place of `p.data.abs().sum()`.",
            at=at,
            family="weight-decay",
        )


def is_a_term(pairs: list[tuple[float, float]]) -> bool:
    """Whether the rest is one and the same multiple of numbers that differ."""
    if not all(value and rest for value, rest in pairs):
        return False
    values, factors = [value for value, _ in pairs], [rest / value for value, rest in pairs]
    return _spread(factors) <= _NEAR and _spread(values) > TWICE * _NEAR


def _spread(numbers: list[float]) -> float:
    return (max(numbers) - min(numbers)) / max(map(abs, numbers))
