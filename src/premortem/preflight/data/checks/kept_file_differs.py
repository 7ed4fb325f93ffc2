from premortem.preflight.data.data_facts import Coded
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity


class KeptFileDiffers(Check):
    """An array holds the rows of a table, and does not agree with it: other numbers in a part of the rows, or other codes for its words.

    ## Why it matters
    The array is what is trained on, and the table is what everyone looks at. A cache that is newer by its date may still be of an
    older table, or of an older numbering of the classes.

    ## Usual causes
    A cache that was made before the table or the list of classes was changed, with a date that says otherwise (copied, unpacked, a clock
    that was wrong).

    ## What to do
    Remove the array and have it made again. Put a checksum of the source into the name of a cache.

    ## When it stays silent
    Unless most rows agree (also in another unit), so that one was made from the other; for numbers that were cut or filled with one
    value; for one column alone, unless the rows that differ stand together, and for files called after predictions or cleaned data. For codes in
    the order of the alphabet, of the first rows or of their frequency; where neither a list by which the script looks words up nor one in
    a file that it reads has these words; where the script numbers the words anew.
    """

    card = Card("PM724", "kept-file-differs", "persistence", Severity.WARNING).explaining(
        "uninformative-labels", "kept-file-is-stale"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for found in root.copied:
            if facts.reads(found.array.partition("[")[0]):
                row, said, there = found.example
                yield self.finding(
                    f"`{found.array}` holds the rows of `{found.table}`, and in {found.rows:,} of {found.of:,} rows "
                    f"`{found.column}` is another: {said:g} in row {row:,} of the table, {there:g} in the array",
                    cause="The array was made from an older version of the table (a stale cache), whatever the dates of the files say.",
                    remedy=f"Remove `{found.array.partition('[')[0]}` and have it made again.",
                    file=found.array,
                    source=found.table,
                    rows=found.rows,
                )
        if facts.names & {"LabelEncoder", "factorize", "unique", "np.unique", "pd.factorize"}:
            return
        for each in (c for c in root.coded if facts.reads(c.array.partition("[")[0])):
            yield from self._codes(facts, root, each)

    def _codes(self, facts: DataFacts, root: Root, each: Coded) -> Findings:
        words = dict(each.words)
        lists = {(f"the list in the script ({', '.join(given[:3])}, ...)", given) for given in facts.lists}
        lists |= {
            (f"`{e.shown}`", e.values) for e in root.entries if e.types == {"str"} and facts.reads(e.path)
        }
        fitting = [
            (name, given)
            for name, given in lists
            if set(words) <= set(given) and len(given) <= 2 * len(words)
        ]
        wrong = [
            (name, [word for word, code in words.items() if given.index(word) != code])
            for name, given in sorted(fitting)
        ]
        if not wrong or any(len(bad) < 2 for _, bad in wrong):
            return
        name, bad = wrong[0]
        place = next(given for other, given in fitting if other == name).index(bad[0])
        yield self.finding(
            f"`{each.array}` goes with `{each.column}` of `{each.table}` row by row and numbers its words otherwise "
            f"than {name}: `{bad[0]}` is {words[bad[0]]} in the array and {place} in the list; {len(bad)} of {len(words)} words differ",
            cause="The array was made when the classes were in another order (a stale cache), whatever the dates of the files say: its labels mean "
            "other classes.",
            remedy=f"Remove `{each.array.partition('[')[0]}` and have it made again.",
            file=each.array,
            words=len(bad),
        )
