from collections.abc import Iterable, Mapping, Sequence

from premortem.preflight.data.data_facts import DataFacts, Entries, Root
from premortem.preflight.data.names import stem
from premortem.preflight.data.unit import Card, Check, Finding, Findings, Severity, share

_MOST = 300  # values of a column of classes
_LOST = 0.03  # of the rows


class ListOfOtherValues(Check):
    """A list of classes or codes beside the data has other entries than the column that it is for.

    ## Why it matters
    A row whose value is not in the list is passed over, or gets zeros for its category. Nothing is counted and nothing crashes.

    ## Usual causes
    The coding of another survey or release; labels that count from zero where the list counts from one; `NO` in YAML, which
    is not a text but false.

    ## What to do
    Make the list from the column, and stop at a value that it does not have. Put quotation marks around texts in YAML.

    ## When it stays silent
    When the list only has fewer entries than the column, or only more: either may be meant. When the column has whole numbers and the
    list names: the numbers are places in it.
    """

    card = Card("PM705", "list-of-other-values", "data-labels", Severity.WARNING).explaining(
        "classes-differ-between-splits", "rows-without-a-partner"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for given in root.entries:
            if 2 <= len(given.values) <= _MOST and facts.reads(given.path):
                found = self._judged(facts, root, given)
                if found is not None:
                    yield found

    def _judged(self, facts: DataFacts, root: Root, given: Entries) -> Finding | None:
        listed = set(given.values)
        name = (given.key.rpartition(".")[2] or stem(given.path.rpartition("/")[2])).lower()
        columns = [
            (table, column, values)
            for table in root.tables
            if facts.reads(table.path) and "=" not in table.part
            for column, values in table.categories.items()
            if facts.uses(table, column)
        ]
        called = [
            each
            for each in columns
            if each[1].lower() in {name, name.rstrip("s")} and not are_places(each[2], given.values)
        ]
        shared = [each for each in columns if len(listed & set(each[2])) >= 0.5 * len(listed)]
        if any(listed <= set(values) for _, _, values in columns) and not any(
            outside(listed, values) for _, _, values in shared
        ):
            return None  # it is the list of that column
        for table, column, values in [*shared, *called]:
            lost = outside(listed, values)
            if lost >= _LOST * sum(values.values()) and listed - set(values):
                strange, unknown = (
                    sorted(listed - set(values))[:3],
                    sorted(set(values) - listed, key=lambda v: -values[v])[:3],
                )
                return self.finding(
                    f"`{given.shown}` lists {quoted(strange)}, which `{column}` of `{table.shown}` does not have, and "
                    f"lacks {quoted(unknown)}, which {lost:,} rows have ({share(lost, sum(values.values()))})",
                    cause="The list is that of other data"
                    + (
                        "; `True` and `False` in it are texts that YAML has taken for switches"
                        if "bool" in given.types
                        else ""
                    )
                    + ": rows with other values are passed over.",
                    remedy="Make the list from the column, and stop at a value that it does not have.",
                    file=given.path,
                    column=column,
                    rows=lost,
                )
        return None


def are_places(values: Iterable[str], listed: Sequence[str]) -> bool:
    """Whole numbers, none beyond the length of a list without any: they say which of its entries is meant."""
    return (
        not any(word.isdecimal() for word in listed)
        and all(value.isdecimal() for value in values)
        and max(map(int, values), default=0) <= len(listed)
    )


def outside(listed: set[str], values: Mapping[str, int]) -> int:
    return sum(number for value, number in values.items() if value not in listed)


def quoted(words: list[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)
