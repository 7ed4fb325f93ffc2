from premortem.detectors.base import Card, Certainty, Detector, Findings, Severity
from premortem.events import Event, LoaderBuilt, StateCarried


class StateOfAnotherBatch(Detector):
    """A model keeps a state of each sample from one batch to the next, and the batches are shuffled.

    ## Why it matters
    The state that a sample starts with is that of another sample, which happened to have its place in the batch before. It is
    noise at best; in the evaluation it makes the result depend on the order of the batches.

    ## Usual causes
    `self.hidden` of a recurrent model that is passed on and never reset; a cache that is not emptied.

    ## What to do
    Begin each batch with a new state (`hidden=None`), or keep it and let the batches follow each other in time
    (`shuffle=False`, and one stream for each row).

    ## How it is measured
    The model is run twice on the same input in eval mode, with the same random numbers, and everything is put back: the
    second answer must be the first. Where it is not, the attributes that were written are looked at when the next batch comes.

    ## When it stays silent
    The loaders do not shuffle, the script resets the state between two batches, or the state is a buffer or has no row for each
    sample (a queue, a memory, a counter).
    """

    card = Card("PM460", "state-of-another-batch", "data-order", Severity.WARNING)
    listens = (LoaderBuilt, StateCarried)

    def __init__(self) -> None:
        self._shuffled = False

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LoaderBuilt):
            self._shuffled |= event.shuffle
        elif isinstance(event, StateCarried) and event.batched and self._shuffled and self.once(event.model):
            first = event.attributes[0]
            yield self.finding(
                event,
                f"`{event.name}` starts each batch with `{first}` as the batch before has left it: asked the same twice, its answers "
                f"differ by {event.effect:.2g} of their spread",
                cause="The batches are shuffled, so that each sample gets the state of some other one.",
                remedy=f"Reset `{first}` before each batch, or do not shuffle if rows go on from batch to batch.",
                certainty=Certainty.MEASURED,
                module=event.name,
                attributes=list(event.attributes),
            )
