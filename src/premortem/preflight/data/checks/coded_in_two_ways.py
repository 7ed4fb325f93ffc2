from collections import Counter

from premortem.amounts import is_number
from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.relations import columns
from premortem.preflight.data.unit import Card, Check, Findings, Severity, Table, whole_tables

_SHARE = 0.05  # of the rows have each kind
_PURE = 0.95  # of the rows of a group have one of them
_EMPTY = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?", "unknown", "other", "missing", "all"})


class CodedInTwoWays(Check):
    """A column of categories has words in some rows and numbers in others, or the same number in two spellings.

    ## Why it matters
    A script that compares with one of them takes all others for the rest: half of the women become men.

    ## Usual causes
    Sites or years with other codes; a column that went through a program which stores numbers as floats (3 and 3.0).

    ## What to do
    Bring all rows to one code where they are read.

    ## When it stays silent
    When words and numbers come side by side in all groups of rows and throughout the file (a code of both), when words are numbers with something
    more (2018Q4 beside 2018), and below five percent.
    """

    card = Card("PM704", "coded-in-two-ways", "data-labels", Severity.WARNING).explaining(
        "labels-follow-in-part", "classes-differ-between-splits"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for table in whole_tables(root):
            for column, cells in columns.words(table).items():
                if not facts.uses(table, column):
                    continue
                counts = Counter(cell.strip() for cell in cells)
                how = floats(counts) or words_and_numbers(table, column, counts)
                if how:
                    yield self.finding(
                        f"`{column}` of `{table.shown}` is coded in two ways: {how}",
                        cause="Rows from two sources have other codes for the same thing, and the script compares with one of them.",
                        remedy="Bring all rows to one code where they are read.",
                        file=table.path,
                        column=column,
                    )


def floats(counts: Counter[str]) -> str:
    """3 and 3.0: one value for a person, two for a comparison of texts."""
    twins = {word: f"{word}.0" for word in counts if word.lstrip("-").isdigit() and f"{word}.0" in counts}
    whole, broken = sum(counts[a] for a in twins), sum(counts[b] for b in twins.values())
    if not twins or min(whole, broken) < _SHARE * counts.total():
        return ""
    first = min(twins)
    return f"`{first}` in {counts[first]:,} rows and `{twins[first]}` in {counts[twins[first]]:,}"


def words_and_numbers(table: Table, column: str, counts: Counter[str]) -> str:
    numbers = {word for word in counts if is_number(word)}
    # `175/181` beside `181` is one code: of two numbers where there are two, and of one where there is one.
    words = {
        word
        for word in counts
        if word not in numbers and word.lower() not in _EMPTY and any(map(str.isalpha, word))
    }
    number, word = sum(counts[each] for each in numbers), sum(counts[each] for each in words)
    if min(len(numbers), len(words)) < 2 or min(number, word) < _SHARE * counts.total():
        return ""
    finer = sum(counts[each] for each in words if any(each.startswith(known) for known in numbers))
    if finer >= _PURE * word:
        return ""  # 2018Q4 beside 2018: a quarter, and a year
    for name, cells in columns.sources(table).items():
        if name == column:
            continue
        groups = columns.groups(cells)
        shares = [
            sum(table.cells[column][at].strip() in numbers for at in rows) / len(rows)
            for rows in groups.values()
        ]
        if len(shares) >= 2 and all(s > _PURE or s < 1 - _PURE for s in shares):
            odd = [each for each, s in zip(groups, shares, strict=True) if (s > 0.5) is (number < word)]
            return f"{example(counts, words)} and {example(counts, numbers)}, the latter where `{name}` is {', '.join(odd[:4])}"
    parts = [
        sum(table.cells[column][at].strip() in numbers for at in rows) / len(rows)
        for rows in columns.chunks(table.rows)
    ]
    if len(parts) >= 4 and sum(s > _PURE or s < 1 - _PURE for s in parts) >= len(parts) - 1:
        return (
            f"{example(counts, words)} in one stretch of the file and {example(counts, numbers)} in another"
        )
    return ""


def example(counts: Counter[str], some: set[str]) -> str:
    return " and ".join(f"`{each}`" for each in sorted(some, key=lambda word: -counts[word])[:2])
