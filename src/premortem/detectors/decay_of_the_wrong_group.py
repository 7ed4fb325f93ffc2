from premortem.amounts import count
from premortem.detectors.base import TWICE, Card, Detector, Findings, Severity
from premortem.events import ModelSeen, OptimizerBuilt, OptimizerStep


class DecayOfTheWrongGroup(Detector):
    """Weight decay is set for biases and scales only, and every weight matrix has none: the two groups are swapped.

    ## Why it matters
    Decay keeps matrices small, and is left out for biases and scales of norms, which it would pull to zero. The other way round the
    model is not regularised at all, and its norms fade.

    ## Usual causes
    `if any(name in no_decay …)` in front of the wrong list; `weight_decay` and `0.0` of two groups exchanged; a missing `not`.

    ## What to do
    Give the decay to the group of the matrices.

    ## When it stays silent
    One matrix that is decayed, groups without decay at all, and a decayed group of a single parameter (a temperature). When what is decayed are
    scales only, gates or logarithms: who wants them small decays just them. A swap decays the biases of the very layers whose matrices
    have no decay, and all of them; the groups are those of the first step.
    """

    card = Card("PM218", "decay-of-the-wrong-group", "weight-decay", Severity.WARNING).explaining(
        "weight-decay-collapse"
    )
    listens = (OptimizerBuilt, ModelSeen, OptimizerStep)

    def __init__(self) -> None:
        self._built: dict[int, OptimizerBuilt] = {}  # that have not stepped yet
        self._biases: dict[int, set[int]] = {}  # of a matrix: the key of its layer's bias

    def observe(self, event: OptimizerBuilt | ModelSeen | OptimizerStep) -> Findings:
        if isinstance(event, OptimizerBuilt):
            if not event.error:
                self._built[event.optimizer] = event
        elif isinstance(event, ModelSeen):
            keys = {parameter.name: parameter.key for parameter in event.parameters}
            for parameter in event.parameters:
                bias = keys.get(f"{parameter.name.rpartition('.')[0]}.bias")
                if len(parameter.shape) > 1 and bias is not None:
                    self._biases.setdefault(parameter.key, set()).add(bias)
        elif (built := self._built.pop(event.optimizer, None)) is not None and self.once(event.optimizer):
            yield from self._judged(event, built)

    def _judged(self, step: OptimizerStep, event: OptimizerBuilt) -> Findings:
        decayed = [group for group in event.groups if group.weight_decay > 0 and group.parameters]
        others = [group for group in event.groups if group.weight_decay == 0 and group.parameters]
        vectors = sum(len(group.parameters) for group in decayed)
        matrices = sum(group.matrices for group in others)
        left = sum(len(group.parameters) for group in others) - matrices
        biases = {bias for group in others for key in group.parameters for bias in self._biases.get(key, ())}
        exchanged = len(biases) >= TWICE and biases <= {key for group in decayed for key in group.parameters}
        # Someone who decays scales on purpose has other vectors that are not decayed; a swap leaves none or a few.
        swapped = exchanged and matrices >= TWICE and vectors > left
        if swapped and not any(group.matrices for group in decayed):
            decay = max(group.weight_decay for group in decayed)
            yield self.finding(
                step,
                f"weight decay {decay:g} is set for {count(vectors, 'bias or scale', 'biases and scales')} only; all {matrices} weight matrices "
                "have none",
                cause="The groups with and without decay are exchanged.",
                remedy="Give the decay to the group of the weight matrices, and 0 to that of biases and norms.",
                at=event.at,
                decay=decay,
                decayed=vectors,
                matrices=matrices,
            )
