from collections.abc import Iterator

from premortem.events import EvaluationEnded, Event, LogLine, StepStats


def epochs(*printed: str, name: str = "psnr", loss: float = 0.1) -> Iterator[Event]:
    for number, text in enumerate(printed):
        yield StepStats(step=number, optimizer=1, loss=loss)
        values = ((name, text, float(text)),)
        yield LogLine(step=number, text=f"{name}: {text}", template=f"{name}: #", values=values)
        yield EvaluationEnded(step=number, model=1, weights=number, trained=True)


EVENTS: list[Event] = [*epochs("inf", "inf", "inf")]

HEALTHY: list[list[Event]] = [
    [*epochs("inf", "31.2", "inf")],  # a set that is perfect once
    [*epochs("nan", "nan", "nan")],
    [*epochs("inf", "inf", "inf", loss=0.0)],
    [*epochs("inf", "inf", "inf", name="best_psnr")],
    [*epochs("inf", "inf", "inf", name="ppl")],
]
