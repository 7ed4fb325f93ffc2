"""A generator that is made once, before the loop over epochs."""

from premortem.events import Backward, EpochEnded, EpochStarted, Event, LogLine, OptimizerStep, Site

AT = Site("train.py", 30)
WORK: list[Event] = [Backward(value=1.0), OptimizerStep(step=1, optimizer=1, kind="SGD", lrs=(0.1,))]


def epoch(number: int, loss: str) -> LogLine:
    values = (("epoch", str(number), float(number)), ("loss", loss, float(loss)))
    return LogLine(step=1, text="", template="epoch # loss #", values=values)


EVENTS: list[Event] = [*WORK, epoch(0, "1.2031"), epoch(1, "0.0000"), epoch(2, "0.0000"), epoch(3, "0.0000")]

HEALTHY: list[list[Event]] = [
    [
        *WORK,
        epoch(0, "1.2031"),
        *WORK,
        epoch(1, "0.9000"),
        *WORK,
        epoch(2, "0.9000"),
        *WORK,
        epoch(3, "0.9000"),
    ],
    # a table of what was recorded, printed at the end
    [*WORK, epoch(0, "1.2031"), epoch(1, "0.9"), epoch(2, "0.7"), epoch(3, "0.6"), epoch(4, "0.5")],
    # one more loop over an iterator that ran out, then a new one
    [
        EpochStarted(at=AT, loader=1),
        *WORK,
        EpochEnded(at=AT, loader=1, batches=1),
        EpochEnded(at=AT, loader=1, batches=0, again=True),
        EpochStarted(at=AT, loader=1),
        *WORK,
        EpochEnded(at=AT, loader=1, batches=1),
        EpochEnded(at=AT, loader=1, batches=0, again=True),
    ],
]
