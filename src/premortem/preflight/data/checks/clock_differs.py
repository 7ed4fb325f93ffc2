from premortem.preflight.data.times import length
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, compared

_TIMES = 1.5  # the step between two rows of the other: summer time and leap seconds change none by that


class ClockDiffers(Check):
    """The times of two splits count in other units, or their rows are another time apart.

    ## Why it matters
    Seconds read as milliseconds move every hour of the day. Code that takes the last twelve rows takes half a day from the one
    file and a day and a half from the other.

    ## Usual causes
    Two exports by two programs; a file that was thinned out to save space; a sensor that reports less often.

    ## What to do
    Convert times where a file is read. Bring all splits to one interval: thin out or fill up, and assert the step between two rows.

    ## When it stays silent
    When the rows of a file are not a regular time apart, and when the code resamples.
    """

    card = Card("PM648", "clock-differs", "data-scale", Severity.WARNING).explaining(
        "columns-differ-between-files", "columns-differ-between-phases"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        resampled = any("resampl" in name or "asfreq" in name for name in facts.names)
        for first, second in compared.splits(root.tables):
            names = (first.shown, second.shown)
            for column, times in second.times.items():
                known = first.times.get(column)
                if known is None or not facts.uses(second, column):
                    continue
                if known.unit != times.unit:
                    said = f"counts {known.unit or 'dates'} in `{names[0]}` and {times.unit or 'dates'} in `{names[1]}` (`{known.example}`, `{times.example}`)"
                    cause = "Code that takes both for the same unit sees another hour and another day in one of them."
                elif steps_differ(known.step, times.step) and not resampled:
                    said = f"goes in steps of {length(known.step)} in `{names[0]}` and of {length(times.step)} in `{names[1]}`"
                    cause = "The same number of rows is another length of time in each of them."
                else:
                    continue
                yield self.finding(
                    f"`{column}` {said}",
                    cause=cause,
                    remedy="Bring both files to one clock where they are made or read.",
                    column=column,
                    files=list(names),
                )


def steps_differ(first: float, second: float) -> bool:
    return min(first, second) > 0 and max(first, second) > _TIMES * min(first, second)
