from premortem.cards import Card
from premortem.detectors.base import TWICE, Detector, Findings
from premortem.events import Experimented
from premortem.findings import Certainty, Severity

NOTICEABLE = 1e-3  # of the spread of the outputs: rounding is far below


class SeesItsOwnTarget(Detector):
    """The model is to predict the next item of a sequence, and is given it.

    ## Why it matters
    The loss falls to nearly nothing, because the answer is copied from the input. When the model is used, there is no
    next item to copy, and it can do nothing.

    ## Usual causes
    - no causal mask in the attention, or a mask that is made and not passed on
    - a bidirectional recurrent layer, or a convolution that is padded on both sides
    - labels that are not shifted: the target of a place is the very item that stands there

    ## What to do
    Pass `is_causal=True` or a causal mask; pad convolutions on the left only; compare `logits[:, :-1]` with
    `tokens[:, 1:]`.

    ## How it is measured
    Targets are compared with the inputs; where they are the inputs a place further on, the second half of the input is replaced
    and the model run again in eval mode: outputs of the first half must stay as they are. Where targets are the inputs
    themselves, it speaks only of models that do look at the past alone: others may be auto-encoders.
    """

    card = Card("PM430", "sees-its-own-target", "loss-definition", Severity.ERROR)
    listens = (Experimented,)

    def observe(self, event: Experimented) -> Findings:
        effect = event.effects.get("another future")
        if effect is None or self.over:
            return
        ahead = event.relation == "shifted" and effect > NOTICEABLE
        itself = event.relation == "same" and event.tokens and effect == 0
        if not (ahead or itself) or self.times((event.model, event.relation)) < TWICE:
            return
        self.over = True
        if ahead:
            yield self.finding(
                event,
                f"`{event.name}` predicts the next of {event.length} places and sees it: with another second half of the "
                f"input, outputs of the first half change by {effect:.2g} of their spread",
                cause="The targets are the inputs one place further on, and nothing keeps an output from looking ahead.",
                remedy="Mask the future: is_causal=True, a causal mask, padding on the left only, or a layer in one direction.",
                module=event.name,
                certainty=Certainty.PROVED,
                change=effect,
            )
        else:
            yield self.finding(
                event,
                f"the targets of `{event.name}` are its own inputs, place by place (sequences of {event.length}): it has only to "
                "copy them",
                cause="A model that looks at the past alone predicts the next item; here the target was not shifted.",
                remedy="Compare the output at t with the input at t + 1: logits[:, :-1] and tokens[:, 1:].",
                module=event.name,
                certainty=Certainty.PROVED,
            )
