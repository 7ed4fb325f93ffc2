"""`loss / 4` is summed up for the log, and the validation loss is not divided."""

from collections.abc import Callable, Iterator

from premortem.events import Backward, Event, Judged, LogLine, LossCall, OptimizerStep


def validation(value: float) -> LossCall:
    return LossCall(
        fn="mse_loss",
        grad=False,
        training=False,
        value=value,
        reduction="mean",
        input_shape=(8, 1),
        target_shape=(8, 1),
    )


def own(value: float) -> Judged:
    return Judged(value=value)


def epochs(
    scale: float, factor: float, summed: int = 4, judged: Callable[[float], Event] = validation
) -> Iterator[Event]:
    for number, loss in enumerate((2.0, 1.6, 1.2, 1.0)):
        for _ in range(4):
            yield Backward(step=number, value=loss * scale, scale=scale)
        yield OptimizerStep(step=number, optimizer=1, kind="SGD", lrs=(0.1,), backwards=summed)
        yield judged(loss + 0.1)
        train, val = f"{loss * factor:.4f}", f"{loss + 0.1:.4f}"
        yield LogLine(
            step=number,
            text="",
            template="train loss # val loss #",
            values=(("train_loss", train, float(train)), ("val_loss", val, float(val))),
        )


EVENTS: list[Event] = [*epochs(0.25, 0.25)]
OWN_CRITERION: list[Event] = [*epochs(0.25, 0.25, judged=own)]

HEALTHY: list[list[Event]] = [
    [*epochs(1.0, 1.0)],
    [*epochs(0.25, 0.25, judged=lambda value: own(4 * value))],  # the validation loss is divided as well
    [*epochs(0.25, 1.0)],  # multiplied back for the log
    [*epochs(0.5, 0.5, summed=1)],  # the mean of two terms
]
