from premortem.preflight.environment.budget import Budget, span
from premortem.preflight.environment.checks.deadline_too_close import CLOSE
from premortem.preflight.unit import Card, Check, Findings, Severity


class QuotaTooSmall(Check):
    """The run needs more device time than there is.

    ## Why it matters
    The quota is charged for every device that is booked, used or not. When it is spent the run ends.

    ## Usual causes
    Two GPUs booked for a script that uses one; more epochs than the quota has hours for.

    ## What to do
    Book as many devices as the script uses; train fewer epochs.
    """

    card = Card("PM614", "quota-too-small", "environment", Severity.WARNING)

    def look(self, facts: Budget) -> Findings:
        if facts.quota is None:
            return
        need = facts.eta * facts.booked
        if need <= facts.quota:
            return
        idle = 0 < facts.used < facts.booked
        enough = facts.eta * facts.used <= facts.quota
        devices = f"{facts.booked} devices booked" if facts.booked != 1 else "one device"
        used = f" With {facts.used} it would{'' if enough else ' still not'} be enough." if idle else ""
        yield self.finding(
            f"the run will use up about {span(need)} of device time ({devices}), and the quota is {span(facts.quota)}",
            cause=f"{span(facts.eta)} of training, charged for every device that is booked.{used}",
            remedy="Book fewer devices." if idle and enough else "Train fewer epochs or faster.",
            severity=Severity.ERROR if need > CLOSE * facts.quota else Severity.WARNING,
            eta_seconds=round(facts.eta),
            booked=facts.booked,
            quota_seconds=round(facts.quota),
        )
