"""Two tasks, and `loss = criterion(...)` in the loop over them: the loss of the first one is overwritten."""

from premortem.events import Event
from tests.detectors.rehearsal import Rehearsal, link


def run(
    *reached: int, owned: bool = True, steps: int = 6, apart: int = 8, later: int = 99, value: float = 1.0
) -> list[Event]:
    """Loss of head 2 and of head 3, over trunk 1; `reached` get gradients."""
    play = Rehearsal()
    play.model("trunk", "cls", "reg")
    play.optimizer(1, 2, 3)
    for number in range(steps):
        play.loss(value, at=30, parameters=(1, 2))
        play.loss(1.0, "mse_loss", at=30, parameters=(1, 3))
        got = (1, 2, 3) if number >= later else reached
        play.walk(*got)
        play.custody(
            *(
                link(key, name, moved=key in got, owners=(1,) if owned else ())
                for key, name in enumerate(("trunk", "cls", "reg"), 1)
            )
        )
        play.step += apart
    return play.end()


EVENTS = run(1, 3)
HEALTHY: list[list[Event]] = [
    run(1, 2, 3),
    run(1, 3, owned=False),
    run(1, 3, steps=2),
    run(1, 3, apart=1),
    run(1, 3, later=2, apart=4),  # it has its turn later
    run(1, 3, later=5),  # ... once the other one is learned
    run(1, 3)[:-1],  # ... perhaps: the run is not over
    run(1, 3, value=float("nan")),  # the script puts another in its place
]
