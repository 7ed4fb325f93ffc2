import math

from premortem.amounts import share
from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import DataProfiled, Event, LossCall
from premortem.profile.alone import highest, mostly_filler

_CALLS = 20  # over which short and long texts average out
_TARGETS = 0.4  # of the targets, as of the tokens


class MostlyFiller(Detector):
    """Most tokens of a text are one and the same, in long runs, and the loss asks for them.

    ## Why it matters
    Filler is predicted at no cost, so the loss is low from the first steps on, and says nothing about the text, of which the model
    sees only a part in the time that it has.

    ## Usual causes
    Documents that were filled up to one length before they were packed into one stream; a tokenizer with `padding="max_length"`;
    a file of a fixed size that was not written to its end.

    ## What to do
    Pack the documents one after the other without filler, or leave the filler out of the loss (`ignore_index`).

    ## When it stays silent
    Below four in ten tokens; when the loss chooses from fewer classes than there are tokens (a class 0 is not the token 0); when the token also stands alone between others, as the background of a picture does; and when the
    loss leaves it out.
    """

    card = Card("PM465", "mostly-filler", "data-empty", Severity.WARNING)
    listens = (DataProfiled, LossCall)

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0
        self._wanted: dict[float, int] = {}
        self._all = 0
        self._left_out: set[float | None] = set()
        self._alphabet = math.inf  # classes that the loss chooses from

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LossCall):
            if event.grad and event.classes and event.reduction != "none" and self._calls < 4 * _CALLS:
                self._calls += 1
                self._left_out.add(event.ignored)
                self._alphabet = min(
                    self._alphabet, event.input_shape[1] if len(event.input_shape) > 1 else 0
                )
                for label, number in event.classes.items():
                    self._wanted[label] = self._wanted.get(label, 0) + number
                    self._all += number
        elif isinstance(event, DataProfiled) and self._calls >= _CALLS:
            for profile in (p for p in event.profiles if p.phase == "training" and p.kind == "tokens"):
                found = mostly_filler(profile)
                if found is None or found.token in self._left_out or self._alphabet <= highest(profile):
                    continue
                wanted = self._wanted.get(float(found.token), 0)
                if wanted >= _TARGETS * self._all and self.once(profile.name):
                    yield self.finding(
                        event,
                        f"{share(found.times, found.of)} of the tokens of {profile.name} are token {found.token}, in runs, and "
                        f"{share(wanted, self._all)} of the targets: filler (padding) that the loss counts",
                        cause="The texts were filled up to one length and packed with their filler: it is predicted at no cost, so the "
                        "loss is falsely low, and little of each batch is text.",
                        remedy=f"Pack the texts without filler, or pass `ignore_index={found.token}` to the loss.",
                        token=found.token,
                        share=round(found.times / found.of, 3),
                        targets=round(wanted / self._all, 3),
                    )
