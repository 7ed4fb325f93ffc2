import re

from premortem.preflight.data import names
from premortem.preflight.data.data_facts import DataFacts, Look, Root
from premortem.preflight.data.unit import Card, Check, Findings, Severity, called, looks_of

# A model that knows from a mask where the text is, or that goes on with it: then either side is right.
_TAKEN_CARE_OF = re.compile(r"(^|[._])(generate|padding_side|\w*mask(ed|s)?|pack_padded_sequence)$")


class FilledOnTheOtherSide(Check):
    """Rows of tokens are filled up at their end in one split, and at their beginning in another.

    ## Why it matters
    A model that reads the last place, or counts places, finds filler where it has learnt to find the text.

    ## Usual causes
    Two tokenizers, or one with `padding_side="left"` for one of the splits.

    ## What to do
    Fill up on one side everywhere.

    ## When it stays silent
    Where hardly any row is filled up, or rows are filled up on both sides. Where the script or the file knows a mask, or the script names
    `generate` or `padding_side`: what a language model goes on with is filled up at its beginning, as it should be.
    """

    card = Card("PM740", "filled-on-the-other-side", "data-order", Severity.WARNING).explaining(
        "columns-differ-between-phases"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        if any(map(_TAKEN_CARE_OF.search, facts.names)):
            return
        masked = {look.path for look in looks_of(root) if _TAKEN_CARE_OF.search(look.part.lower())}
        known: dict[str, Look] = {}
        for look in (each for each in looks_of(root) if each.filled):
            if look.path in masked or not facts.reads(look.path):
                continue
            key = names.without_split(f"{names.stem(look.path)}_{look.part}".replace("/", "_"))
            first = known.setdefault(key, look)
            if first.filled is None or look.filled is None or first.filled[0] == look.filled[0]:
                continue
            yield self.finding(
                f"the rows of `{called(first)}` are filled up with token {first.filled[1]} at their {first.filled[0]}, those of "
                f"`{called(look)}` at their {look.filled[0]}",
                cause="The splits were padded on different sides (left and right): the last place is text in the one and filler in the other.",
                remedy="Fill up on one side in all splits.",
                files=[called(first), called(look)],
            )
