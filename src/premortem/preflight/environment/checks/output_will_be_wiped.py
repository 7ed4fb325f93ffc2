from premortem.amounts import short
from premortem.preflight.environment.machine_facts import Facts
from premortem.preflight.unit import Card, Certainty, Check, Findings, Severity


class OutputWillBeWiped(Check):
    """The checkpoints go to a folder that is wiped when the session ends.

    ## Why it matters
    The hours of training that led to the best model end with the session.

    ## Usual causes
    A notebook service without its lasting folder (`/kaggle/working`, a mounted drive); the scratch folder of a batch
    job; the local disk of a rented machine; the inside of a container.

    ## What to do
    Save to a folder that lasts, or start the run with `premortem run --mirror URL`.

    ## When it stays silent
    When the code copies or uploads what it has saved, when a temporary folder was chosen for what it is, or when nothing
    tells that the place will be wiped. A place that only might go (memory, a container) is a remark.
    """

    card = Card("PM608", "output-will-be-wiped", "persistence", Severity.WARNING).explaining(
        "ephemeral-output-path", "ephemeral-storage"
    )

    def look(self, facts: Facts) -> Findings:
        for output in facts.outputs:
            if output.wiped:
                yield self.finding(
                    f"the checkpoints in {short(output.path)} {'are wiped' if output.certain else 'may go'} with their place: "
                    f"{output.wiped}",
                    cause="Nothing in the code copies them to a place that lasts.",
                    remedy="Save to a folder that lasts, or start it with `premortem run --mirror URL`.",
                    where=output.where,
                    severity=Severity.WARNING if output.certain else Severity.INFO,
                    certainty=Certainty.MEASURED if output.certain else Certainty.SUSPECTED,
                    path=str(output.path),
                )
