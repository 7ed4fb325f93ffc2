from premortem.events import Rounded
from tests.detectors.rehearsal import Rehearsal, line


def run(*, op="sin", spacing=16.0, steps=3):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(steps):
        play.add(
            Rounded(
                step=play.step,
                at=line(14, "forward"),
                op=op,
                dtype="bfloat16",
                largest=256 * spacing,
                spacing=spacing,
            )
        )
        play.batch()
    return play.end()


EVENTS = run()
CONVERTED = run(op="to", spacing=1.0)
HEALTHY = [run(steps=0), run(steps=1), run(spacing=0.03125)]
