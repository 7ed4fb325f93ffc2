from dataclasses import dataclass
from typing import Any

from premortem.detectors.base import TWICE, Card, Certainty, Detector, Finding, Findings, Severity
from premortem.detectors.shared.runs import Run, Runs
from premortem.events import Event, RandomRepeated, Seeded, Site

STEPS = 8  # in a row, each with the same seed or the same random numbers, and the same input
NOISE_STEPS = 20  # in a row, where only some noise repeats: a seed for each evaluation ends sooner
NUMBERS = 8  # that were drawn: fewer may be equal by chance, as bits or dice are


@dataclass
class Repeat:
    """A line that was reached in each of the last steps, with the same outcome."""

    at: Site | None
    what: str
    value: int
    last: int
    steps: int = 0
    rewound: int = 0  # times that it took back numbers which had been drawn before


class ReseededEveryStep(Detector):
    """A random generator is seeded with the same number in every step, so every step draws the same.

    ## Why it matters
    The "random" batch is the same in each step, and so are augmentations, noise and dropout masks.

    ## Usual causes
    `torch.manual_seed(0)` or a new `Generator` with a fixed seed inside the training step, `get_batch` or
    `__getitem__`.

    ## What to do
    Seed once, before the loop; make generators once and draw on.

    ## When it stays silent
    Another seed in each step, a seed that is set once per epoch or fold, draws that do not reach the training, and
    numbers from a generator that the script hands over itself, as long as the batches differ.
    """

    card = Card("PM333", "reseeded-every-step", "data-order", Severity.ERROR).explaining(
        "same-batch-every-step", "constant-labels", "fewer-samples-than-expected"
    )
    listens = (*Runs.LISTENS, Seeded, RandomRepeated)

    def __init__(self) -> None:
        self._runs = Runs()
        self._repeats: dict[tuple[Site | None, str], Repeat] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Seeded):
            repeat = self._repeat(event, f"{event.library} is seeded with {event.seed}", event.seed)
            repeat.rewound += event.rewound
            # In nearly every step, all that was drawn was drawn before: whatever the seed is for, the training starts from it again.
            always = repeat.steps >= STEPS and repeat.rewound >= STEPS - 3
            if always or (repeat.steps >= NOISE_STEPS and repeat.rewound >= TWICE):
                yield self._rewinds(event, repeat)
        elif isinstance(event, RandomRepeated):
            if event.size >= NUMBERS and event.grad:
                what = f"`torch.{event.fn}` gives the same {event.size} numbers"
                repeat = self._repeat(event, what, event.size)
                # Who hands a generator over has chosen its numbers: a fixed table that is drawn anew in each step.
                if repeat.steps >= NOISE_STEPS and not event.explicit:
                    yield self._noise(event, repeat)
        else:
            for run in self._runs.observe(event):
                if run.changing and run.steps >= STEPS and not self.over:
                    yield from self._same_input(event, run)

    def _repeat(self, event: Seeded | RandomRepeated, what: str, value: int) -> Repeat:
        key = (event.at, type(event).__name__)
        repeat = self._repeats.get(key)
        if repeat is None or repeat.value != value or event.step > repeat.last + 1:
            repeat = self._repeats[key] = Repeat(event.at, what, value, event.step, 1)
        elif event.step == repeat.last + 1:
            repeat.last, repeat.steps = event.step, repeat.steps + 1
        return repeat

    def _same_input(self, event: Event, run: Run) -> Findings:
        # The event is the end of a step; the seed was set before it.
        for repeat in self._repeats.values():
            if repeat.steps >= STEPS - 3 and event.step - repeat.last <= 2:
                what = f"{repeat.what} in every step, and the last {run.steps} steps all got the same batch"
                why = "A generator that starts from the same seed each time draws the same indices each time."
                yield self._found(event, repeat, what, why, steps=run.steps)
                return

    def _rewinds(self, event: Seeded, repeat: Repeat) -> Finding:
        what = f"{repeat.what} in each of the last {repeat.steps} steps, and the steps drew the same numbers again"
        why = "The generator starts from the same seed each time, so shuffles, augmentations, noise and dropout masks repeat."
        return self._found(
            event, repeat, what, why, severity=Severity.WARNING, steps=repeat.steps, times=repeat.rewound
        )

    def _noise(self, event: RandomRepeated, repeat: Repeat) -> Finding:
        why = "Its generator starts from the same seed each time, so noise and augmentation are the same in every step."
        what = f"{repeat.what} in each of the last {repeat.steps} steps"
        weak = {"severity": Severity.WARNING, "certainty": Certainty.SUSPECTED, "family": "data-augment"}
        return self._found(event, repeat, what, why, **weak, steps=repeat.steps)

    def _found(self, event: Event, repeat: Repeat, what: str, why: str, **more: Any) -> Finding:
        remedy = "Seed once before the loop, and make the generator outside of it."
        return self.last_word(event, what, cause=why, remedy=remedy, at=repeat.at, **more)
