from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, compared
from premortem.profile.numbering import renumbered
from premortem.profile.wording import numbering


class TokensRenumbered(Check):
    """The tokens of one split are numbered in another way than those of the training split.

    ## Why it matters
    Each number stands for another word. Nothing crashes as long as the numbers are smaller than the vocabulary.

    ## Usual causes
    Two versions of a tokenizer, one with a special token more; files that were tokenised by two programs.

    ## What to do
    Tokenise all splits again with one tokenizer, and store its checksum beside the files.

    ## When it stays silent
    Unless tokens that are frequent in the one never come in the other, in both directions, and all of them agree once they are
    moved by one number.
    """

    card = Card("PM699", "tokens-renumbered-between-splits", "data-labels", Severity.WARNING).explaining(
        "tokens-numbered-differently"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for first, second in compared.splits(root.tables):
            found = renumbered(first.profile, second.profile)
            if found is not None:
                names = (first.shown, second.shown)
                yield self.finding(
                    f"{numbering(found, f'`{names[0]}`', f'`{names[1]}`')}",
                    cause="The two files were tokenised with different numbers.",
                    remedy="Tokenise all splits again with one tokenizer.",
                    files=list(names),
                    moved=found.moved,
                )
