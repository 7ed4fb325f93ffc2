from premortem.preflight.environment.budget import Budget, span
from premortem.preflight.unit import Card, Check, Findings, Severity

CLOSE = 1.5  # times the deadline, from which no error of the estimate can save it


class DeadlineTooClose(Check):
    """The run will not be over when its time is.

    ## Why it matters
    A session or a job that ends takes what has not been saved with it, and the learning-rate schedule is cut off
    before its end.

    ## Usual causes
    A number of epochs that was chosen for another machine; a wall-clock limit from a template.

    ## What to do
    Train fewer epochs, ask for more time, or resume in a second session: `premortem run --deadline` saves in time.
    """

    card = Card("PM613", "deadline-too-close", "environment", Severity.WARNING)

    def look(self, facts: Budget) -> Findings:
        if facts.deadline is None or facts.eta <= facts.deadline:
            return
        yield self.finding(
            f"the run will take about {span(facts.eta)}, and there are {span(facts.deadline)}",
            cause="The time of the rehearsed steps, times the steps of the whole run.",
            remedy="Train fewer epochs or faster, ask for more time, or save and resume: `premortem run --deadline`.",
            severity=Severity.ERROR if facts.eta > CLOSE * facts.deadline else Severity.WARNING,
            eta_seconds=round(facts.eta),
            deadline_seconds=round(facts.deadline),
        )
