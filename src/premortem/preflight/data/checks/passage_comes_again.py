from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from premortem.preflight.data.cells import is_key
from premortem.preflight.data.relations import columns, order
from premortem.preflight.data.tables import is_whole
from premortem.preflight.data.unit import Check, DataFacts, Root, Table, share, whole_tables
from premortem.preflight.unit import Card, Finding, Findings, Severity

_AGAIN = 0.03  # of the rows
_AS_OFTEN = 0.9  # of the rows that come again do so equally often
_DIFFER = 0.5  # of the rows: they were measured anew
_MEASURED = 3  # numbers of a row that is known again


class PassageComesAgain(Check):
    """Rows that should be measured once come a second time: a key that names each row, or a long passage of measurements.

    ## Why it matters
    What was imported twice counts twice, in sums, in means and in the loss; and where rows are divided afterwards, the same row is
    trained on and judged. A passage that was copied to another time is a measurement that nothing belongs to.

    ## Usual causes
    An import that ran twice; a gap that was filled with the weeks before it; a file of the wrong year under a new name.

    ## What to do
    Drop the second copy, by the key that names a row.

    ## When it stays silent
    When keys repeat by nature, for numbers of rows and of groups, when a passage comes more than three times (a rhythm), when both passages are
    of the same years or names (the price of each year, beside each of several shops; the latitude of each country, in each year), and below three
    percent of the rows.
    """

    card = Card("PM619", "passage-comes-again", "data-order", Severity.WARNING).explaining(
        "copies-within-split"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        tables = whole_tables(root)
        seen: set[str] = set()
        for table in tables:
            found = self._rows(table) or self._passage(facts, table)
            if found is not None:
                seen.add(table.shown)
                yield found
        for first, second in combinations(tables, 2):
            if first.shown not in seen and second.shown not in seen and first.path != second.path:
                yield from self._between(facts, first, second)

    def _rows(self, table: Table) -> Finding | None:
        """Whole rows, with the key that names each of the others."""
        rows = list(zip(*table.cells.values(), strict=True))
        own = list(dict.fromkeys(rows))
        number = len(rows) - len(own)
        if number < max(5, _AGAIN * len(rows)):
            return None
        name = next(naming(table, own), None)
        if name is None:
            return None
        return self.finding(
            f"{number:,} of {len(rows):,} rows of `{table.shown}` ({share(number, len(rows))}) come again whole, with their "
            f"{name}, which each other row has to itself",
            cause="The rows were imported twice.",
            remedy="Keep the first of them.",
            file=table.path,
            rows=number,
        )

    def _passage(self, facts: DataFacts, table: Table) -> Finding | None:
        for column, values in columns.measured(table).items():
            asked = facts.uses(table, column) and not order.names_groups(values)
            found = order.again(values) if asked else None
            if found is not None and not is_of_all(table, found) and not is_of_names(table, column, found):
                return self.finding(
                    f"{found.rows:,} values of `{column}` in `{table.shown}` are those of another passage: from row "
                    f"{found.second:,} on they repeat rows {found.first:,} and following",
                    cause="A stretch of the file was copied to another time.",
                    remedy="Leave the copy out, or mark it as missing.",
                    file=table.path,
                    column=column,
                    rows=found.rows,
                )
        return self._things(table)

    def _things(self, table: Table) -> Finding | None:
        """Rows that agree in all that was measured, under two names."""
        made = columns.measured(table)
        keys = [name for name in table.cells if is_key(name)]
        if len(made) < _MEASURED or not keys:
            return None
        import numpy as np

        rest = [cells for name, cells in table.cells.items() if name not in keys]
        # Where nothing was measured, rows are alike.
        full = sum(np.isfinite(values) for values in made.values())
        places: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at, row in enumerate(zip(*rest, strict=True)):
            if full[at] >= _MEASURED:
                places[row].append(at)
        again = [found for found in places.values() if len(found) > 1]
        number = sum(len(found) - 1 for found in again)
        if number < max(5, _AGAIN * table.rows):
            return None
        # What was imported twice comes twice. Rows that are alike by chance, of shoppers who see the same prices, come two, three or ten times.
        if Counter(map(len, again)).most_common(1)[0][1] < _AS_OFTEN * len(again):
            return None
        one, two = (table.cells[keys[0]][at] for at in again[0][:2])
        if one == two:
            return None
        return self.finding(
            f"{number:,} of {table.rows:,} rows of `{table.shown}` ({share(number, table.rows)}) are copies of another row in "
            f"all that was measured, under another `{keys[0]}` (`{one}` and `{two}`)",
            cause="The same rows were imported under new keys: divided by the key, they are trained on and judged.",
            remedy="Keep one of them, or divide by what is in the row.",
            file=table.path,
            rows=number,
        )

    def _between(self, facts: DataFacts, first: Table, second: Table) -> Findings:
        if not first.times or not second.times or set(first.times) != set(second.times):
            return
        one, two = columns.measured(first), columns.measured(second)
        for column in [name for name in one if name in two and facts.uses(second, name)]:
            if order.names_groups(one[column]):
                continue  # the days of the month
            found = order.shared(one[column], two[column])
            if found is None or same_times(first, second, found):
                continue
            yield self.finding(
                f"{found.rows:,} values of `{column}` in `{second.shown}` are those of `{first.shown}`, at other "
                "times",
                cause="One of the files has the measurements of the other under new times.",
                remedy="Export the file again.",
                file=second.path,
                column=column,
                rows=found.rows,
            )
            return


def naming(table: Table, rows: list[tuple[str, ...]]) -> Iterator[str]:
    """The key, or the key and the time, that each row has to itself once copies are gone."""
    names = list(table.cells)
    keys = [name for name in names if is_key(name)]
    for name in keys:
        if len({row[names.index(name)] for row in rows}) == len(rows):
            yield f"`{name}`"
    for key in keys:
        for time in table.times:
            if len({(row[names.index(key)], row[names.index(time)]) for row in rows}) == len(rows):
                yield f"`{key}` and `{time}`"


def is_of_all(table: Table, found: order.Again) -> bool:
    """Whether both passages are of the same years or the same names, and not of the same rows: what is one for all shops in a year stands
    beside each of them."""
    here, there = (slice(start, start + found.rows) for start in (found.second, found.first))
    same = {name: list(cells[here]) == list(cells[there]) for name, cells in table.cells.items()}
    return not all(same.values()) and any(
        again and (name in table.times or is_key(name) or rises(table.numbers(name), here))
        for name, again in same.items()
    )


def is_of_names(table: Table, column: str, found: order.Again) -> bool:
    """Whether both passages are of the same names, each of which has one value wherever it stands: the latitude of a country, in each year."""
    cells = table.cells[column]
    pairs = [
        (at, at + found.second - found.first)
        for at in range(found.first, min(found.first + found.rows, len(cells) - found.second + found.first))
    ]
    again = [(one, two) for one, two in pairs if cells[one] == cells[two]]
    return any(
        sum(names[one] == names[two] for one, two in again) >= _AS_OFTEN * len(again)
        and len(set(zip(names, cells, strict=True))) == len(set(names))
        for name, names in table.cells.items()
        if name != column and is_name(table, name, found)
    )


def is_name(table: Table, name: str, found: order.Again) -> bool:
    """Text, or numbers of groups. Other whole numbers are so where what is measured beside them differs between the two passages: what was
    copied as a whole has the same quantities, too."""
    import numpy as np

    values = table.numbers(name)
    if values is None or order.names_groups(np.array(values)):
        return True
    here, there = (slice(start, start + found.rows) for start in (found.second, found.first))
    return is_whole(values) and any(
        (made[here] != made[there][: len(made[here])]).mean() > _DIFFER
        for made in columns.measured(table).values()
    )


def rises(values: Sequence[float] | None, where: slice) -> bool:
    return values is not None and all(a < b for a, b in pairwise(values[where]))


def same_times(first: Table, second: Table, found: order.Again) -> bool:
    """Whether both passages are of the same time: then one file is a part of the other."""
    time = next(iter(first.times))
    return first.cells[time][found.first] == second.cells[time][found.second]
