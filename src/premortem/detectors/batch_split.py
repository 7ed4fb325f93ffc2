from premortem.detectors.base import Card, Certainty, Detector, Findings, Severity
from premortem.events import BatchSplit as Split


class BatchSplit(Detector):
    """A batch did not fit into memory and was run in parts, with the same gradients.

    ## Why it matters
    The run goes on, but each such step costs one more forward pass, and the next longer sequence may need smaller
    parts. The run is slower than it could be.

    ## Usual causes
    A batch that fits on average and not with the longest samples; a device that is shared; a larger batch than the
    device holds.

    ## What to do
    Take smaller batches and accumulate, or use autocast or checkpointing; `premortem fit` predicts what each of them
    saves.

    ## How it is done
    The model is called on parts of the batch, without keeping what the backward pass needs, and the outputs are put
    together; the backward pass computes it again, part by part. The loss is your own and sees the whole batch. Before the
    first time premortem checks that the samples do not influence each other: the outputs of the parts must be those of
    the whole. Batch norm in training mode, forward hooks, and layers that keep something from their last call rule it out.
    When memory runs out only in the backward pass, that one step is not made; from the next one on the batch is split.
    """

    card = Card("PM361", "batch-split", "memory-fit", Severity.WARNING)
    listens = (Split,)

    def observe(self, event: Split) -> Findings:
        lost = "; the step in which it was noticed was not made" if event.lost else ""
        yield self.last_word(
            event,
            f"a batch of {event.samples} did not fit into memory in the {event.phase} pass: {event.name} runs it "
            f"in {event.parts} parts{lost}",
            cause="The gradients are those of the whole batch. The price is one more forward pass for each such step.",
            remedy="Take smaller batches and accumulate, or use autocast or checkpointing; `premortem fit` "
            "predicts each.",
            module=event.name,
            certainty=Certainty.PROVED,
            samples=event.samples,
            parts=event.parts,
            requested_bytes=event.requested,
            step_lost=event.lost or None,
        )
