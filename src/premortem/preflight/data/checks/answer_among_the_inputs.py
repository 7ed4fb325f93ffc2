import re

from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, looks_of

# Lists of which one entry is chosen hold the answer by their nature.
_CHOICES = frozenset(
    "candidates candidate options option choices choice impressions shown pool slate negatives answers offered ranking ranked all "
    "members classes labels".split()
)


class AnswerAmongTheInputs(Check):
    """What is to be predicted already stands in the list that it is predicted from.

    ## Why it matters
    The history of a session that holds the next track gives the answer away. The score is too good, and on the day of the prediction the
    entry is not there.

    ## Usual causes
    A history that was exported after the fact; a window that reaches one step too far; a join without a limit by time.

    ## What to do
    Cut the list before the moment of the prediction.

    ## When it stays silent
    Unless the script names the list and predicts the entry, or the entry is called a label; for lists of candidates, of which one is chosen; where lists of other rows hold the answer, too.
    """

    card = Card("PM727", "answer-among-the-inputs", "data-order", Severity.WARNING).explaining(
        "column-gives-target-away"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        looks = [look for look in looks_of(root) if look.holds]
        for look in {look.path: look for look in looks}.values():
            for name, answer, held, other in look.holds:
                words = set(re.split(r"[^a-z]+", name.lower()))
                if name not in facts.words or not facts.predicts(answer) or words & _CHOICES:
                    continue
                yield self.finding(
                    f"in {held:.0%} of the rows of `{look.path}`, `{name}` already holds `{answer}`, which is to be "
                    f"predicted from it; the list of the next row does in {other:.0%}",
                    cause=f"The input contains the target (a leak): `{name}` was exported after the fact, or reaches one step too far.",
                    remedy=f"Cut `{name}` before the moment of the prediction.",
                    file=look.path,
                    column=name,
                    target=answer,
                )
