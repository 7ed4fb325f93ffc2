"""The PSNR of every evaluation is infinite, and the training loss is not 0."""

from premortem.events import Event, LogLine
from tests.detectors.faults.metric_not_finite import ended
from tests.detectors.rehearsal import Rehearsal


def run(
    *printed: str,
    name: str = "psnr",
    loss: float = 0.1,
    counted: tuple[int, ...] = (),  # evaluations that are not reported
) -> list[Event]:
    play = Rehearsal()
    play.model("0.weight")
    play.optimizer(1)
    for number, text in enumerate(printed):
        for _ in range(4):
            play.batch()
            play.stats(loss)
        values = ((name, text, float(text)),)
        play.add(LogLine(step=play.step, text=f"{name}: {text}", template=f"{name}: #", values=values))
        if number not in counted:
            play.add(ended(play.step, trained=True))
    return play.end()


EVENTS = run("inf", "inf", "inf")
HEALTHY = [
    run("inf", "31.2", "inf"),  # perfect once
    run("inf", "31.2", "inf", counted=(1,)),
    run("nan", "nan", "nan"),
    run("inf", "inf", "inf", loss=0.0),
    run("inf", "inf", "inf", name="best_psnr"),
    run("inf", "inf", "inf", name="ppl"),
]
