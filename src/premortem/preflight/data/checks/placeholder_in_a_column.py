from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.unit import Card, Check, Finding, Findings, Severity, Table, some
from premortem.profile.facts import Placeholder
from premortem.profile.wording import placeholder


class PlaceholderInAColumn(Check):
    """A column of a file has one value, repeated and far from all others, where something was missing.

    ## Why it matters
    -9999 is a number. It enters mean and standard deviation, so that the real values are squashed to a sliver, and a layer
    cannot tell it from a measurement.

    ## Usual causes
    A file that writes -9999, 999 or 65535 for "not measured", read without saying so.

    ## What to do
    Read it as missing (`na_values=[-9999]`), fill it with the median, and add a column that says where that was done.

    ## When it stays silent
    When the script names columns of the file and not this one, when the value is a usual one, when it comes only once
    or twice, and when the script asks for this very value (`x == 999`, `na_values=[999]`).
    """

    card = Card("PM674", "placeholder-in-a-column", "data-scale", Severity.WARNING).explaining(
        "placeholder-taken-for-a-value", "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        said: dict[tuple[str, ...], tuple[Table, list[Placeholder], list[str]]] = {}
        # The training split first: it is the one that is learnt from.
        for table in sorted(root.tables, key=lambda table: table.split != "train"):
            if table.split and table.part.partition("=")[2]:
                continue  # a part of a table that was looked at as a whole
            found = [
                each
                for each in table.profile.placeholders
                if facts.uses(table, each.column) and each.value not in facts.numbers
            ]
            if found:
                said.setdefault(table.sample.columns, (table, found, []))[2].append(table.shown)
        for table, found, files in said.values():
            yield self._say(table, found, files[1:])

    def _say(self, table: Table, found: list[Placeholder], others: list[str]) -> Finding:
        names = [each.column for each in found]
        also = f"; so have {some(names[1:])}" if len(names) > 1 else ""
        also += f"; likewise in {some(others)}" if others else ""
        return self.finding(
            f"in `{table.shown}`, {placeholder(found[0])}{also}",
            cause="One value, repeated and far outside of all others, is a placeholder for a missing value (a sentinel).",
            remedy="Read it as missing and fill it in, before means and standard deviations are computed.",
            file=table.path,
            columns=names[:20],
            value=found[0].value,
            rows=found[0].times,
            of=found[0].of,
        )
