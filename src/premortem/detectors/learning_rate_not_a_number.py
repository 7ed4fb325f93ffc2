from __future__ import annotations

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import OptimizerBuilt


class LearningRateNotANumber(Detector):
    """The learning rate given to an optimizer is text, not a number.

    ## Why it matters
    The optimizer refuses it with a message about comparing `float` and `str` that does not say where the text
    came from, or the first step fails.

    ## Usual causes
    YAML reads `1e-4` as text: it wants `1.0e-4`. A command-line option without `type=float`, or an environment
    variable.

    ## What to do
    Write `1.0e-4` in YAML, or convert: `lr=float(config["lr"])`.
    """

    card = Card("PM214", "learning-rate-not-a-number", "lr", Severity.ERROR)
    listens = (OptimizerBuilt,)

    def observe(self, event: OptimizerBuilt) -> Findings:
        if event.lr_text:
            self.over = True
            yield self.finding(
                event,
                f'{event.kind} was given the text "{event.lr_text}" as learning rate',
                cause="A config file, a command line or an environment variable gave text where a number is needed"
                " (YAML reads 1e-4 as text).",
                remedy=f"Convert it: lr=float({event.lr_text!r}), or write 1.0e-4 instead of 1e-4 in YAML.",
                text=event.lr_text,
            )
