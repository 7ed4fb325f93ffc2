from premortem.detectors.base import TWICE, Card, Detector, Findings, Severity
from premortem.events import Experimented
from premortem.metric_words import words

# What a model may be given for its loss alone.
_TARGETS = frozenset("y label labels target targets gt truth".split())


class ArgumentWithoutEffect(Detector):
    """A model demands an input that differs from sample to sample, and answers the same whatever it is.

    ## Why it matters
    What that input has to tell is lost: a model of noise that does not know the time, a condition that is not looked at, a mask that hides
    nothing.

    ## Usual causes
    The wrong variable in `forward`; a mask that is built and not applied; an index that is always 0.

    ## What to do
    Follow the argument through `forward`.

    ## How it is measured
    The model is run again in eval mode, with that input of every sample replaced by another sample's, at two different steps: no output
    changes by a bit.

    ## When it stays silent
    Arguments with a default, targets, models that ask whether they are in training, and inputs that are the same for half of the samples. When
    another model of the script takes the same arguments (a baseline looks at less), and when no input has an effect.
    """

    card = Card("PM152", "argument-without-effect", "grad-flow", Severity.WARNING)
    listens = (Experimented,)

    def observe(self, event: Experimented) -> Findings:
        for name in event.demanded:
            if words(name) & _TARGETS or event.noisy:
                continue
            if self.times((event.model, name)) >= TWICE and self.once((event.model, name)):
                yield self.finding(
                    event,
                    f"`{event.name}` gives the same output whatever `{name}` is: each of {event.samples} samples got another's, and no "
                    "output changed by a bit",
                    cause=f"`forward` takes `{name}` and does not use what it says.",
                    remedy=f"Follow `{name}` through forward(), and use it.",
                    module=event.name,
                    argument=name,
                )
