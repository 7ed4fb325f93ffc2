"""`lr * int(os.environ["SLURM_NTASKS"])`, in a shell where 64 is left of another job."""

from premortem.events import EnvironmentRead, Event, Group, OptimizerBuilt, Variable


def built(rate: float) -> OptimizerBuilt:
    return OptimizerBuilt(optimizer=1, kind="Adam", groups=(Group(rate, 0.0, 0.0, (1,)),))


def told(name: str, value: str, of_rate: bool = True) -> EnvironmentRead:
    return EnvironmentRead(step=1, variables=(Variable(name, value, "train.py", 9, of_rate),))


EVENTS: list[Event] = [built(0.128), told("SLURM_NTASKS", "64")]
HEALTHY: list[list[Event]] = [
    [built(0.002), told("SLURM_NTASKS", "64")],  # asked for, and not multiplied
    [built(0.128), told("SLURM_NTASKS", "1")],
    [built(0.128), told("ROWS", "64")],
    [built(3e-4), told("WORLD_SIZE", "4")],
    [told("WORLD_SIZE", "64")],
    [built(1.2e-3), told("WORLD_SIZE", "4", of_rate=False)],  # by hand, and the variable is printed
]
