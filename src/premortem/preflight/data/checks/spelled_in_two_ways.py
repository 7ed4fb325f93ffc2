import unicodedata
from collections import defaultdict
from collections.abc import Mapping

from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.sentences import known
from premortem.preflight.data.unit import Card, Check, Finding, Findings, Severity, compared, some

_FEWEST = 5  # rows of each spelling: fewer are typing errors, which cost little
_MOST = 60  # values of a column of classes
_PART = 0.5  # of the words that are known without their capitals
_STRIPS = frozenset({"strip", "rstrip", "lstrip", "skipinitialspace", "normalize"})
_LOWERS = frozenset({"lower", "upper", "casefold", "capitalize", "title"})


class SpelledInTwoWays(Check):
    """One class, or one category, stands in a file under two spellings that differ only in spaces or capitals.

    ## Why it matters
    A script that numbers the different words makes two classes of one. The network is to tell apart what is the same, and the
    evaluation, which has one of the spellings, counts the other as wrong.

    ## Usual causes
    A second clerk, form or export; fixed-width columns, which are filled up with spaces.

    ## What to do
    `name.strip().lower()` where the file is read.

    ## When it stays silent
    When the script's code strips its texts, or makes them small, and below five rows of a spelling.
    """

    card = Card("PM620", "spelled-in-two-ways", "data-labels", Severity.WARNING).explaining(
        "labels-follow-in-part"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for table in root.tables:
            for column, values in table.categories.items():
                found = spellings(values, facts.names) if len(values) <= _MOST else []
                if found and facts.uses(table, column):
                    yield self._say(table.shown, column, values, found)

        for first, second in compared.splits(root.tables):
            for column, (_, words) in second.words.items():
                trained = first.words.get(column)
                if trained and facts.uses(second, column) and not pieces(facts.names) & _LOWERS:
                    yield from self._texts(column, (first.shown, trained[1]), (second.shown, words))

    def _texts(self, column: str, first: compared.Counted, second: compared.Counted) -> Findings:
        """The words of one split are known to the other only once their capitals are gone."""
        as_it_is = known(second[1], first[1].keys(), small=False)
        folded = known(
            {word.lower(): n for word, n in second[1].items()}, {w.lower() for w in first[1]}, small=False
        )
        if folded > 0.6 and as_it_is < _PART * folded:
            example = next(word for word in second[1] if word not in first[1])
            yield self.finding(
                f"{as_it_is:.0%} of the words in `{column}` of `{second[0]}` come in `{first[0]}`, and "
                f"{folded:.0%} once capitals are made small (`{example}`)",
                cause="One of the two texts is written in capitals, or without them: to a vocabulary that keeps them its words are unknown.",
                remedy="`lower()` the texts of all splits where they are read.",
                column=column,
                spellings=[],
            )

    def _say(self, file: str, column: str, values: Mapping[str, int], found: list[list[str]]) -> Finding:
        first = [f"{word!r} in {values[word]} rows" for word in found[0]]
        also = f"; so are {some([each[0].strip() for each in found[1:]])}" if len(found) > 1 else ""
        return self.finding(
            f"`{column}` of `{file}` is spelled in two ways: {' and '.join(first)}{also}",
            cause=f"The words differ only in spaces or capitals, and the script takes them as they are: {len(values)} classes where "
            f"{len(values) - sum(len(each) - 1 for each in found)} are meant.",
            remedy="`strip()` the names, and bring them to one case, where the file is read.",
            column=column,
            spellings=[list(each) for each in found[:20]],
        )


def pieces(code: frozenset[str]) -> frozenset[str]:
    """`strip` of `line.strip`."""
    return frozenset(piece for word in code for piece in word.split("."))


def spellings(values: Mapping[str, int], code: frozenset[str]) -> list[list[str]]:
    """Words that are the same but for what the script's code does not take away."""
    code = pieces(code)
    same: dict[str, list[str]] = defaultdict(list)
    for word, number in values.items():
        if number >= _FEWEST and any(map(str.isalpha, word)):
            text = unicodedata.normalize("NFKC", word)
            same[" ".join(text.split()).casefold()].append(word)
    found = []
    for words in same.values():
        folded = {word.strip() if code & _STRIPS else word for word in words}
        folded = {word.casefold() if code & _LOWERS else word for word in folded}
        if len(folded) > 1:
            found.append(sorted(words, key=lambda word: -values[word]))
    return found
