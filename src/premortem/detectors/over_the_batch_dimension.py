from premortem.detectors.base import THRICE, Card, Detector, Findings, Severity
from premortem.events import Event, Forward, LossCall, Site, Softmaxed


class OverTheBatchDimension(Detector):
    """Softmax runs over the samples of the batch instead of over the classes.

    ## Why it matters
    The scores of each class sum to one over the samples, so the prediction for one sample depends on which others are in
    its batch. The loss still falls a little; the predictions mean nothing.

    ## Usual causes
    `dim=0` instead of `dim=1` or `dim=-1`; `nn.Softmax()` without `dim`, which takes dimension 0 of a tensor with
    three; code for a single sample that is given a batch.

    ## What to do
    Name the dimension of the classes: `softmax(x, dim=-1)`, and `dim=1` for images (N, C, H, W).

    ## When it stays silent
    Square similarity matrices (contrastive losses go both ways), scores of the items of one list or bag, and sequences
    whose first dimension is time.
    """

    card = Card("PM413", "over-the-batch-dimension", "shape", Severity.ERROR).explaining(
        "nll-without-log-probabilities",
        "uninformative-labels",
        "sample-depends-on-batch",
        "rows-treated-differently",
        "updates-too-small",
        "vanishing-gradients",
        "softmax-before-cross-entropy",
    )
    listens = (Softmaxed, LossCall, Forward)

    def __init__(self) -> None:
        self._waiting: list[Softmaxed] = []  # since the last loss call
        self._inputs: dict[int, set[int | None]] = {}  # model -> different inputs it was trained on

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Forward):
            inputs = self._inputs.setdefault(event.model, set())
            if event.grad and len(inputs) < 8:
                inputs.add(event.fingerprint)
        elif isinstance(event, Softmaxed):
            yield from self._softmaxed(event)
        elif isinstance(event, LossCall):
            yield from self._compared(event)

    def _softmaxed(self, event: Softmaxed) -> Findings:
        if event.dimension != 0:
            return
        rows, rest = event.shape[0], event.shape[1:]
        # Otherwise it is a list, a bag, a square of similarities.
        if not self.always(("samples", event.at), rows > 1 and max(rest) > 1 and rows not in rest):
            return
        self._waiting.append(event)
        del self._waiting[:-16]
        # Outside the model, on its output: the rows are the samples.
        if not event.inside and event.samples == rows and len(event.shape) == 2:
            yield from self._count(event, event.op, event.shape)

    def _compared(self, event: LossCall) -> Findings:
        waiting, self._waiting = self._waiting, []
        if not event.grad or not event.target_shape:
            return
        if event.fn == "nll_loss" and event.input_op == "log_softmax" and event.row_logsumexp is not None:
            if event.row_logsumexp > 0.1 and len(event.input_shape) > 1 and event.input_shape[0] > 1:
                made = [each.at for each in waiting if each.shape == event.input_shape]
                yield from self._count(event, "log_softmax", event.input_shape, made[-1] if made else None)
                return
        samples = event.target_shape[0]
        for each in waiting:
            # One target for each row: the first dimension holds samples, not steps in time.
            if each.inside and each.shape[0] == samples and each.samples == samples:
                if not any(size in event.target_shape[1:] for size in each.shape[1:] if size > 1):
                    yield from self._count(each, each.op, each.shape)

    def _count(
        self, event: Softmaxed | LossCall, op: str, shape: tuple[int, ...], at: Site | None = None
    ) -> Findings:
        if self.over:
            return
        # A graph or a set that is given whole at every step has no batches: its first dimension is its nodes.
        if self.times(event.at) < THRICE or max(map(len, self._inputs.values()), default=0) < 2:
            return
        yield self.last_word(
            event,
            f"{op} over dimension 0 of {shape}: each column sums to one over the {shape[0]} samples of the batch",
            cause="The samples of a batch compete with each other instead of the classes of a sample.",
            remedy=f"{op}(..., dim=-1), or dim=1 for (N, C, ...).",
            at=at,
            op=op,
            shape=shape,
        )
