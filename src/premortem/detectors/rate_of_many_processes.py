import math

from premortem.detectors.base import Card, Certainty, Detector, Finding, Findings, Severity
from premortem.events import EnvironmentRead, OptimizerBuilt, Site, Variable
from premortem.files.variables import PROCESSES


class RateOfManyProcesses(Detector):
    """The learning rate was multiplied by a number of processes, and there is only this one.

    ## Why it matters
    A rate grows with the number of processes because each of them brings a batch. Alone, the run trains with a rate that is many times
    too high.

    ## Usual causes
    `SLURM_NTASKS` or `WORLD_SIZE` of another job, in a shell that lives on; `python` where `srun` or `torchrun` was meant.

    ## What to do
    `unset` the variable, or start as many processes as it says. Ask `torch.distributed.get_world_size()` rather than the environment.

    ## How it is measured
    The script's code asks for the variable, no process group exists at the first step, and the rate is a rounder number once it is divided by
    the variable (or by its root): 0.128 is 64 times 0.002. Where the code multiplies a rate by the variable, it is a warning; where only the
    digits say so, a remark: 1.2e-3 is 4 times 3e-4, which a person may have chosen, too.

    ## When it stays silent
    When there are other processes, and when the rate is as round as it is.
    """

    card = Card("PM378", "rate-of-many-processes", "lr", Severity.WARNING).explaining(
        "updates-too-large", "non-finite-training", "metric-frozen"
    )
    listens = (EnvironmentRead, OptimizerBuilt)

    def __init__(self) -> None:
        self._built: list[OptimizerBuilt] = []

    def observe(self, event: EnvironmentRead | OptimizerBuilt) -> Findings:
        if isinstance(event, OptimizerBuilt):
            self._built.append(event)
            return
        for variable in event.variables:
            number = int(variable.value) if variable.name in PROCESSES and variable.value.isdecimal() else 1
            for built in self._built if number > 1 else ():
                rates = {float(group.lr) for group in built.groups if group.lr}
                for rate in sorted(rates):
                    own = alone(rate, number)
                    if own is not None and self.once(variable.name):
                        yield self._found(event, variable, rate, own)

    def _found(self, event: EnvironmentRead, variable: Variable, rate: float, own: float) -> Finding:
        return self.finding(
            event,
            f"{variable.name}={variable.value} is set in the environment, the script asks for it, and the rate is {rate:.6g}: {own:g} for "
            f"each of {variable.value} processes, of which there is one",
            cause=f"The rate was multiplied by {variable.name}, and no other process shares the work.",
            remedy=f"`unset {variable.name}`, or start {variable.value} processes; a script can ask torch.distributed.get_world_size().",
            at=Site(variable.file, variable.line),
            severity=None if variable.of_rate else Severity.INFO,
            certainty=Certainty.MEASURED if variable.of_rate else Certainty.SUSPECTED,
            variable=variable.name,
            rate=rate,
        )


def alone(rate: float, number: int) -> float | None:
    """The rate of one process, where that is the rounder number."""
    for factor in (float(number), math.sqrt(number)):
        own = float(f"{rate / factor:.6g}")
        if digits(own) < digits(rate):
            return own
    return None


def digits(value: float) -> int:
    """Significant ones, up to six."""
    return len(f"{value:.5e}".partition("e")[0].replace(".", "").rstrip("0"))
