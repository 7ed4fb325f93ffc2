from premortem.preflight.environment.machine_facts import Facts
from premortem.preflight.unit import Card, Certainty, Check, Findings, Severity


class GpusLeftIdle(Check):
    """More GPUs are booked than the script uses.

    ## Why it matters
    The others do nothing, and the quota is charged for all of them: two booked and one used burn it twice as fast.

    ## Usual causes
    The template of a notebook or a job asks for two GPUs; the script was written for one.

    ## What to do
    Book one GPU, or start the script with `torchrun --nproc-per-node` and wrap the model in
    `DistributedDataParallel`.

    ## When it stays silent
    When the code, or a framework that it imports, may spread the work itself, or when a launcher has started it. On a
    machine without a booking it is a remark.
    """

    card = Card("PM605", "gpus-left-idle", "environment", Severity.WARNING)

    def look(self, facts: Facts) -> Findings:
        booking, use = facts.booking, facts.use
        if booking is None or booking.devices < 2 or use.devices != 1:
            return
        held = f"{booking.devices} GPUs are booked ({booking.said_by})"
        if not booking.said_by:
            held = f"this machine has {booking.devices} GPUs"
        yield self.finding(
            f"{held}, and the script uses one",
            cause=f"In all of its code there is {use.sign}, and nothing that spreads the work.",
            remedy="Book one GPU, or spread the work: torchrun with DistributedDataParallel.",
            where=use.where,
            severity=Severity.WARNING if booking.said_by else Severity.INFO,
            certainty=Certainty.SUSPECTED,
            booked=booking.devices,
            used=use.devices,
        )
