from collections.abc import Iterator, Sequence
from typing import Any

from premortem.preflight.data.relations import columns, units
from premortem.preflight.data.unit import Check, DataFacts, Root, Table, compared, some, whole_tables
from premortem.preflight.unit import Card, Finding, Findings, Severity


class AnotherUnitInAPart(Check):
    """A part of a column is in another unit: converted, it is distributed as the rest is, and as it stands it is not.

    ## Why it matters
    Half of the weights in pounds and half in kilograms are all numbers. The network learns that there are two kinds of patients.

    ## Usual causes
    Sites, years or devices that measure in other units, and were put into one file or beside each other.

    ## What to do
    Convert where the rows are read, by the column that says where they come from.

    ## When it stays silent
    When the rows of the part differ from the rest in other columns too, when parts differ that much among themselves, when no usual
    conversion makes them agree or several would, below thirty rows of a part, and for stretches of a file that is sorted by
        the column.
    """

    card = Card("PM617", "another-unit-in-a-part", "data-scale", Severity.WARNING).explaining(
        "labels-follow-in-part",
        "columns-differ-between-files",
        "columns-differ-between-phases",
        "train-and-eval-inputs-differ",
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        seen: set[str] = set()
        for table in whole_tables(root):
            for column, values in columns.measured(table).items():
                if facts.uses(table, column):
                    found = self._within(table, column, values)
                    if found is not None:
                        seen.add(column)
                        yield found
        for first, second in alike(root.tables):
            one, two = columns.measured(first), columns.measured(second)
            both = {column: [one[column], two[column]] for column in one if column in two}
            for column, parts in both.items():
                if column not in seen and facts.uses(second, column):
                    odd = units.odd_parts(parts, _besides(both, column), column)
                    if odd is not None:
                        seen.add(column)
                        table, other = (first, second) if odd.parts == (0,) else (second, first)
                        yield self._say(
                            table,
                            column,
                            f"in `{table.shown}`",
                            f"in `{other.shown}`",
                            odd,
                        )

    def _within(self, table: Table, column: str, values: Any) -> Finding | None:
        every = columns.measured(table)

        def odd_rows(parts: Sequence[Any]) -> units.Converted | None:
            others = {name: [cells[rows] for rows in parts] for name, cells in every.items()}
            return units.odd_parts(others[column], _besides(others, column), column)

        for name, cells in columns.sources(table).items():
            groups = columns.groups(cells)
            if name == column or len(groups) < 2:
                continue
            found = odd_rows(list(groups.values()))
            if found is not None and (len(groups) >= 4 or found.large):
                odd = [list(groups)[at] for at in found.parts]
                where = f"where `{name}` is {some(odd)}"
                return self._say(table, column, where, "in the other rows", found)
        chunks = list(columns.chunks(len(values)))
        found = odd_rows(chunks) if len(chunks) >= 4 and not columns.is_in_order(values) else None
        if found is not None:
            first, last = chunks[found.parts[0]][0], chunks[found.parts[-1]][-1]
            together = len(found.parts) == found.parts[-1] - found.parts[0] + 1
            if together and len(chunks) - len(found.parts) >= 3:
                where = f"in about rows {first:,} to {last:,} of `{table.shown}`"
                return self._say(table, column, where, "in the other rows", found)
        heaps = units.heaps(values)
        found = odd_rows(heaps) if heaps is not None else None
        if heaps is not None and found is not None and found.large:
            where = f"in {len(heaps[found.parts[0]]):,} rows of `{table.shown}`"
            return self._say(table, column, where, "in the others", found)
        return None

    def _say(self, table: Table, column: str, here: str, rest: str, found: units.Converted) -> Finding:
        return self.finding(
            f"`{column}` of `{table.shown}` is in another unit {here}: its median is {found.here:.4g} there and "
            f"{found.rest:.4g} {rest}; converted ({found.how}), both are distributed alike",
            cause="Rows that were measured in two units stand under one name.",
            remedy="Convert the rows of one source where they are read.",
            file=table.path,
            column=column,
            conversion=found.how,
        )


def _besides(parts: dict[str, list[Any]], column: str) -> list[list[Any]]:
    return [made for name, made in parts.items() if name != column]


def alike(tables: tuple[Table, ...]) -> Iterator[tuple[Table, Table]]:
    """Splits of one dataset, and two files whose names differ by a number."""
    for pair in compared.splits(tables):
        if pair.first.cells and pair.second.cells:
            yield pair.first, pair.second
    for same in compared.numbered(tables):
        if len(same) == 2 and all(table.cells for table in same):
            yield same[0], same[1]
