from premortem.detectors.base import TWICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import PaddingMask

SEVERAL = 4  # different tokens are hidden: that is text
# How it was masked: the cause, and what to do.
KINDS = {
    "key_padding_mask": (
        "`key_padding_mask` is True where a place is to be ignored; here it is True where there is something.",
        "Turn the mask round: `key_padding_mask=~mask.bool()`, or `ids == pad`.",
    ),
    "attn_mask": (
        "In the `attn_mask` of `scaled_dot_product_attention` True means *look here*; here it is True where there is filling.",
        "Turn the mask round: `attn_mask=ids != pad`, or `mask.bool()` of a tokenizer's mask.",
    ),
    "softmax": (
        "The scores of what is there were made so small that a softmax gives them nothing.",
        "Turn the mask round: `scores.masked_fill(mask == 0, -inf)`, where `mask` is 1 for what is there.",
    ),
}


class PaddingMaskInverted(Detector):
    """An attention looks at the padding alone: its mask hides the sequence and shows what fills it up.

    ## Why it matters
    Whatever stands in the sequence, each place sees the same filling. The model learns only what a place says by
    itself, and a sequence without padding has nothing left to look at (NaN).

    ## Usual causes
    In `key_padding_mask` True means *ignore*. A mask of a tokenizer has 1 for what is there: `mask.bool()` must be turned
    round, `mask == 0`; so must it be in `scores.masked_fill(mask == 0, -inf)`. In the `attn_mask` of
    `scaled_dot_product_attention` it is the other way round: True means *look here*.

    ## What to do
    Pass `key_padding_mask=(ids == pad)`, or `~mask.bool()`; to `scaled_dot_product_attention`, `attn_mask=(ids != pad)`.

    ## How it is measured
    In audited steps the mask is laid over the model's own input: all that it shows is one and the same token (or rows of zeros), and
    what it hides is not. Of attention that is written by hand the weights are looked at, inside of a model: a place is hidden that has a weight of
    exactly 0 from all places and for all heads. There, and in an `attn_mask`, samples count of which a part is hidden, in batches in which these
    parts differ in length.
    """

    card = Card("PM461", "padding-mask-inverted", "shape", Severity.ERROR)
    listens = (PaddingMask,)

    def observe(self, event: PaddingMask) -> Findings:
        filling = event.shown_values == 1 and event.masked_values >= SEVERAL
        so = event.shown > 0 and event.masked > 0 and (filling or (event.empty and event.full))
        if self.always(event.by, so) and self.different(event.by, event.step) >= TWICE:
            yield self.last_word(
                event,
                f"an attention looks at padding alone: the {event.shown} places that its mask shows are all the same, and the "
                f"{event.masked} that it hides are the sequences",
                cause=KINDS[event.by][0],
                remedy=KINDS[event.by][1],
                certainty=Certainty.PROVED,
                shown=event.shown,
                hidden=event.masked,
            )
