from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, compared

_USED = frozenset({"indices", "codes", "read_dictionary", "dictionary_encode", "dictionary", "factorize"})


class CodesDifferBetweenSplits(Check):
    """The same words have other numbers in another split, and the script uses the numbers.

    ## Why it matters
    Parquet, Arrow and pandas store words as numbers with a list of words beside them, and each file has its own list. An embedding
    that learnt 3 as "merlot" is asked about another grape.

    ## Usual causes
    Files that were written one by one: the list is in the order in which words first came.

    ## What to do
    Take the words and number them once, from a list that is kept with the model.

    ## When it stays silent
    When the lists agree, and when the script never names `indices`, `codes` or a dictionary.
    """

    card = Card("PM645", "codes-differ-between-splits", "data-labels", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        if not {part for name in facts.names for part in name.split(".")} & _USED:
            return
        for first, second in compared.splits(root.tables):
            for column, words in second.codes.items():
                known = first.codes.get(column, ())
                moved = [word for at, word in enumerate(words) if word in known and known.index(word) != at]
                if moved and facts.uses(second, column):
                    word = moved[0]
                    yield self.finding(
                        f"`{word}` of `{column}` is number {known.index(word)} in "
                        f"`{first.shown}` and number {words.index(word)} in `{second.shown}`; {len(moved)} of {len(words)} "
                        "words have another number",
                        cause="Each file has its own list of words, and the script takes the numbers.",
                        remedy="Take the words, and number them once from one list.",
                        column=column,
                        words=moved[:20],
                    )
