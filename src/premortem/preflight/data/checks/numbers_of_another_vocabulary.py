from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity


class NumbersOfAnotherVocabulary(Check):
    """A file holds the words of a text as numbers, and these are not the numbers of the vocabulary beside it.

    ## Why it matters
    Each number stands for another word than the vocabulary says. What is encoded afresh and what was stored are two secret scripts: a model
    that was trained on the one is judged on the other.

    ## Usual causes
    A cache that was made with an older vocabulary; a vocabulary that was sorted or counted again.

    ## What to do
    Delete the encoded file and encode the text again. Store the checksum of the vocabulary beside what was encoded with it.

    ## How it is measured
    The rows of the numbers follow the words of the text, place by place: each word has one number. Then that number is looked up.

    ## When it stays silent
    When rows do not follow the text word by word (pieces of words, another order), when one vocabulary agrees, and when the numbers are only moved
    by a few, for special words. A file whose numbers repeat or leave gaps holds counts, and one that lacks a fifth of the words is of something
    else: neither is a vocabulary. For files that the script does not read.
    """

    card = Card("PM716", "numbers-of-another-vocabulary", "data-labels", Severity.WARNING).explaining(
        "uninformative-labels", "tokens-numbered-differently"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for found in root.recoded:
            if not (facts.reads(found.path.partition("[")[0]) and facts.reads(found.vocabulary)):
                continue
            word, here, there = found.example
            yield self.finding(
                f"`{found.path}` holds the words of `{found.column}` in `{found.text}` in another "
                f"numbering than `{found.vocabulary}`: {found.wrong:,} of {found.words:,} words differ; `{word}` is {here} in "
                f"the one and {there} in the other",
                cause="The file is a stale cache: it was encoded with another vocabulary than the one that is used now.",
                remedy=f"Delete `{found.path}` and encode the text again with `{found.vocabulary}`.",
                file=found.path,
                words=found.words,
                wrong=found.wrong,
            )
