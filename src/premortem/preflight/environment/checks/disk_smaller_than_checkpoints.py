from premortem.amounts import size
from premortem.preflight.environment.machine_facts import Facts
from premortem.preflight.unit import Card, Check, Findings, Severity


class DiskSmallerThanCheckpoints(Check):
    """The checkpoints of this run will not all fit on the disk.

    ## Why it matters
    The save that finds the disk full ends the run, and often leaves half a file where the last good one was.

    ## Usual causes
    A new file for every epoch, none of which is ever deleted; checkpoints with the optimizer's state, which are three
    times the weights; a quota smaller than the disk.

    ## What to do
    Keep the best and the last few (`premortem.Retention`), save less often, or save to a larger disk.

    ## When it stays silent
    When neither a checkpoint of an earlier run nor the rehearsal shows how large one is, or when it is not known how
    many there will be.
    """

    card = Card("PM606", "disk-smaller-than-checkpoints", "checkpoint", Severity.WARNING)

    def look(self, facts: Facts) -> Findings:
        for saving in facts.savings:
            fitting = fits(saving.free, saving.size, saving.count)
            if fitting >= saving.count:
                continue
            yield self.finding(
                f"{saving.count} checkpoints of {size(saving.size)} need {size(saving.count * saving.size)}, "
                f"and {size(saving.free)} are free: the disk is full after {fitting}",
                cause=f"`{saving.pattern}` is a new file each time, and none is deleted.",
                remedy="Keep only the best and the last few, save less often, or save to a larger disk.",
                where=saving.where,
                severity=Severity.ERROR if fitting == 0 else Severity.WARNING,
                free_bytes=saving.free,
                checkpoint_bytes=saving.size,
                checkpoints=saving.count,
            )


def fits(free: int, one: int, count: int) -> int:
    """How many files of this size still have room, of those that are wanted."""
    return min(count, free // one) if one > 0 else count
