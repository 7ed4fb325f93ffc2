from premortem.detectors.base import THRICE, Card, Detector, Findings, Severity
from premortem.events import Event, LossCall, SequenceLayer


class BatchTakenForTime(Detector):
    """A recurrent or attention layer takes the samples of the batch for the steps of a sequence.

    ## Why it matters
    torch's recurrent and attention layers want (time, batch, features) unless they are built with `batch_first=True`.
    Given (batch, time, features) they run without complaint: the state goes from one sample to the next, and each time step
    is treated as a sequence of its own.

    ## Usual causes
    `nn.LSTM(...)`, `nn.GRU(...)`, `nn.MultiheadAttention(...)` or a transformer layer without `batch_first=True`, fed
    from a DataLoader.

    ## What to do
    Build the layer with `batch_first=True`, or transpose the first two dimensions before and after.

    ## When it stays silent
    Sequences that do come with time first, targets for every step in time, and sizes that are equal.
    """

    card = Card("PM414", "batch-taken-for-time", "shape", Severity.ERROR).explaining(
        "uninformative-labels",
        "sample-depends-on-batch",
        "rows-treated-differently",
        "updates-too-small",
        "vanishing-gradients",
        "reshape-as-transpose",
    )
    listens = (SequenceLayer, LossCall)

    def __init__(self) -> None:
        self._waiting: dict[str, SequenceLayer] = {}  # layers that ran since the last loss

    def observe(self, event: Event) -> Findings:
        if isinstance(event, SequenceLayer):
            self._waiting.setdefault(event.layer, event)
        elif isinstance(event, LossCall) and event.grad and event.target_shape:
            waiting, self._waiting = self._waiting, {}
            for layer in waiting.values():
                yield from self._compare(layer, event)

    def _compare(self, layer: SequenceLayer, loss: LossCall) -> Findings:
        first, second, _ = layer.shape
        # If the targets are not one for each entry, the first dimension is something else than the samples.
        if not self.always(layer.layer, loss.target_shape[0] == first):
            return
        # Equal sizes say nothing; neither do targets for every moment, nor one sequence at a time.
        if second in {first, 1, *loss.target_shape[1:]} or first == 1:
            return
        if self.different(layer.layer, layer.step) >= THRICE:
            yield self.last_word(
                layer,
                f"{layer.layer} ({layer.kind}) wants (time, batch, features) and is given {layer.shape}: "
                f"it runs over the {first} samples of the batch as if they were time steps",
                cause=f"The loss has one target for each of the {first} entries of the first dimension, so that is the "
                "batch; the layer was built without batch_first=True and takes it for time.",
                remedy=f"{layer.kind}(..., batch_first=True), or x.transpose(0, 1) before the layer.",
                module=layer.layer,
                shape=layer.shape,
                target_shape=loss.target_shape,
            )
