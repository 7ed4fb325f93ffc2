from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity

_NO = frozenset({"false", "no", "0", "n", "f", "off"})
_YES = frozenset({"true", "yes", "1", "y", "t", "on"})


class TextTakenForTrue(Check):
    """A column of a text file says `False` in some rows, and the script asks of the text whether it is true.

    ## Why it matters
    Every text but the empty one is true in Python. The column becomes a constant, and the model is trained without it.

    ## Usual causes
    An export that writes True and False where there was a mark or nothing; a file that is read without types (`csv.DictReader`).

    ## What to do
    Compare the text (`row["smoker"] == "True"`), or read the file into types.

    ## When it stays silent
    When the column has other words, or is empty where it means no; when the script never asks for the truth of the column as it is.
    """

    card = Card("PM615", "text-taken-for-true", "data-empty", Severity.WARNING).explaining("constant-column")

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for table in (t for t in root.tables if t.path.lower().endswith((".csv", ".tsv")) and not t.part):
            for column in sorted(facts.truths & set(table.categories)):
                values = {value.strip().lower() for value in table.categories[column]}
                if values & _NO and values <= _NO | _YES:
                    word = min(value for value in table.categories[column] if value.strip().lower() in _NO)
                    yield self.finding(
                        f"`{column}` of `{table.shown}` is the text `{word}` in "
                        f"{table.categories[column][word]:,} rows, and the script takes every text for true: a constant column",
                        cause="The boolean is stored as a text, and a text that is not empty is true, whatever it says.",
                        remedy=f'Compare the text, as in `row["{column}"] == "True"`, or read the file into types.',
                        file=table.path,
                        column=column,
                    )
