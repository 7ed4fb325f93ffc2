from collections.abc import Iterator
from functools import partial
from itertools import permutations

from premortem.preflight.data.cells import Keys, is_key, keys_of, plain
from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.relations import partners
from premortem.preflight.data.unit import Card, Check, Finding, Findings, Severity, Table, share

_FEWEST = 20  # keys
_FOUND = 0.98  # of the keys, once they are written alike: then the tables are meant to be joined
_LOST = 0.05  # of them are not found as they are
_POWERS = 0.05  # of the keys
_ONE = 0.6  # of the rows have a key of their own: a list with one row for each, and no list of events
_TWICE = 0.03  # of its rows repeat a key


class KeysDoNotJoin(Check):
    """Two tables are joined by a key that is written in two ways, has lost digits, or stands twice in the list that is looked up.

    ## Why it matters
    A row without a partner gets a default, and a key that stands twice gets the row that was read last. Columns are filled, and
    belong to nothing, or to another.

    ## Usual causes
    A spreadsheet that took a code for a number: `00712` became 712, 712 became 712.0, a long number 1.2E+12. A list that was
    appended to itself.

    ## What to do
    Keep keys as texts everywhere (`dtype=str`), and stop when a key is not found.

    ## When it stays silent
    When hardly any key differs, when keys do not meet even once they are written alike, and when the script brings keys into one form, as pandas
    does with numbers where it is not given their type.
    """

    card = Card("PM629", "keys-do-not-join", "data-order", Severity.WARNING).explaining(
        "constant-column", "columns-differ-between-files", "column-of-other-rows"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        changes = bool(
            {word.rpartition(".")[2] for word in facts.names} & {"zfill", "lstrip", "rjust", "to_numeric"}
        )
        tables = [t for t in root.tables if "=" not in t.part and (t.keys or t.cells)]
        seen: set[tuple[str, str]] = set()
        for table in tables:
            for column, found in table.keys.items():
                if found.powers >= max(3, _POWERS * found.rows) and facts.uses(table, column):
                    seen.add((table.path, column))
                    yield self._powers(table, column, found)
        for table, listed in permutations(tables, 2):
            if partners.siblings(table, listed):
                continue
            for column, found, known in shared(table, listed):
                if {(table.path, column), (listed.path, column)} & seen:
                    continue
                digits = all(map(str.isdigit, found.values | known.values))
                alike = changes or (digits and facts.guesses_types)  # 007 and 7 are one number
                finding = self._join(table, listed, column, found, known, alike)
                if finding is not None:
                    seen |= {(table.path, column), (listed.path, column)}
                    yield finding

    def _powers(self, table: Table, column: str, found: Keys) -> Finding:
        return self.finding(
            f"{found.powers:,} keys in `{column}` of `{table.shown}` are written as powers of ten, such as "
            f"`{next(v for v in sorted(found.values) if 'e' in v.lower())}`: their last digits are lost",
            cause="A spreadsheet or a float took the ids for numbers: several keys became one, and do not match their partners.",
            remedy="Export the keys as texts, and read them with `dtype=str`.",
            file=table.path,
            column=column,
        )

    def _join(
        self, table: Table, listed: Table, column: str, found: Keys, known: Keys, alike: bool
    ) -> Finding | None:
        lost = found.values - known.values
        bare = (
            listed.once("bare keys", column, lambda: {plain(value) for value in known.values})
            if lost
            else set()
        )
        near = {value for value in lost if plain(value) in bare}
        matched = len(found.values) - len(lost) + len(near)
        if not alike and len(near) >= _LOST * len(found.values) and matched >= _FOUND * len(found.values):
            one = min(near)
            other = next(value for value in sorted(known.values) if plain(value) == plain(one))
            return self.finding(
                f"{len(lost):,} of {len(found.values):,} keys in `{column}` of `{table.shown}` "
                f"({share(len(lost), len(found.values))}) are not in `{listed.shown}`, and {len(near):,} of them are once they are "
                f"written alike: `{one}` and `{other}`",
                cause="The ids have another type in one of the tables: zeros in front were dropped, or they became floats. The join finds no "
                "partner for these rows.",
                remedy="Keep keys as texts in both tables, and stop when one is not found.",
                file=table.path,
                column=column,
            )
        if not is_key(column):
            return None
        own = len(known.values)
        repeated = known.rows - own
        one_each = len(found.values) == found.rows and found.values <= known.values
        if one_each and own >= _ONE * known.rows and repeated >= max(3, _TWICE * known.rows):
            return self.finding(
                f"{repeated:,} rows of `{listed.shown}` repeat a key of `{column}` that stands there "
                f"already, while `{table.shown}` has each key once",
                cause="The list that is looked up has duplicate ids: the row that was read last replaces the others, and belongs to another sample.",
                remedy="Make the keys of the list unique, and stop when one comes twice.",
                file=listed.path,
                column=column,
            )
        return None


def shared(table: Table, listed: Table) -> Iterator[tuple[str, Keys, Keys]]:
    for column, found in table.keys.items():
        known = listed.keys.get(column)
        if known is None and column in listed.cells and not is_key(column):
            known = listed.once("keys", column, partial(keys_of, listed.cells[column]))
        if known is not None and min(len(found.values), len(known.values)) >= _FEWEST:
            yield column, found, known
