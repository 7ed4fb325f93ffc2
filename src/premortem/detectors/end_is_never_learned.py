from premortem.detectors.base import THRICE, TWICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import RowsCompared


class EndIsNeverLearned(Detector):
    """The token that ends every sequence is masked out of the loss wherever it stands: the model never learns to stop.

    ## Why it matters
    The loss falls as it should. A generation goes on until its limit, as nothing ever taught the model to predict the end.

    ## Usual causes
    `tokenizer.pad_token = tokenizer.eos_token`, and labels that are masked wherever they are the padding token: the first one, which is the end of the
    sequence, is masked with the rest.

    ## What to do
    Mask by the attention mask (or by lengths) in place of the token, or give the padding a token of its own.

    ## How it is measured
    In audited steps of a model that predicts the next token: all rows of its input end in the same token, the longest ones with a single one, in batches of different
    length. So it is a mark of the end, and fills up the rest. It is never among the targets that count.

    ## When it stays silent
    Where it counts once; where the longest row ends in another token, as with a padding token of its own; for batches of one length, where nothing shows which of the two
    it is; and where inputs are cut before the last token.
    """

    card = Card("PM491", "end-is-never-learned", "loss-definition", Severity.WARNING)
    listens = (RowsCompared,)

    def observe(self, event: RowsCompared) -> Findings:
        if event.ends is None:
            if event.ahead is not None:
                self.always(event.at, so=False)  # a batch without such an end
            return
        seen = event.ends
        widths = self.different((event.at, seen.token), seen.width)
        if self.always(event.at, seen.places > 0 == seen.counted) < THRICE or widths < TWICE:
            return
        if self.once(event.at):
            yield self.finding(
                event,
                f"token {seen.token} ends every sequence, the longest one too, and is never among the targets that count ({seen.places} places of a batch)",
                cause="It marks the end and fills up the rest, and the padding is masked out by the token: so is every end.",
                remedy="Mask by the attention mask or by lengths, or give the padding a token of its own.",
                certainty=Certainty.MEASURED,
                token=seen.token,
            )
