from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import DataProfiled
from premortem.profile.between import phases
from premortem.profile.numbering import renumbered
from premortem.profile.wording import numbering


class TokensNumberedDifferently(Detector):
    """The evaluation's tokens are numbered in another way than those of training.

    ## Why it matters
    Each number stands for another word. The score falls for a reason that no training can repair.

    ## Usual causes
    Two versions of a tokenizer, one with a special token more; files that were tokenised by two programs; an offset that was added to
    one split.

    ## What to do
    Tokenise all splits again with one tokenizer, and store its checksum beside the files.

    ## When it stays silent
    Unless tokens that are frequent in the one never come in the other, in both directions, and all of them agree once they are
    moved by one number.
    """

    card = Card("PM358", "tokens-numbered-differently", "data-labels", Severity.WARNING)
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Findings:
        for trained, judged in phases(event.profiles, beside=True):
            found = renumbered(trained, judged)
            if found is not None and self.once(judged.name):
                yield self.finding(
                    event,
                    numbering(found, "training", "evaluation"),
                    cause=f"{trained.name} and {judged.name} were tokenised with different numbers.",
                    remedy="Tokenise all splits again with one tokenizer.",
                    moved=found.moved,
                    only_in_training=[code for code, _ in found.only_first],
                    only_in_evaluation=[code for code, _ in found.only_second],
                )
