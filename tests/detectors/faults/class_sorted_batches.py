"""Six classes in the order of their folders, epoch after epoch."""

from collections.abc import Iterator

from premortem.events import Backward, Event, Group, LossCall, OptimizerBuilt, Site

AT = Site("train.py", 70)
BUILT = OptimizerBuilt(optimizer=1, kind="SGD", groups=(Group(0.1, 0.0, 0.0, (1,)),))


def batches(*labels: dict[float, int], fn: str = "cross_entropy") -> Iterator[Event]:
    for step, classes in enumerate(labels):
        yield LossCall(
            step=step,
            at=AT,
            fn=fn,
            grad=True,
            training=True,
            value=1.0,
            reduction="mean",
            input_shape=(8, 6),
            target_shape=(8,),
            classes=classes,
        )
        yield Backward(step=step, at=AT, value=1.0)


SORTED: list[dict[float, int]] = [{float(label): 8} for label in range(6) for _ in range(2)]
SHUFFLED: list[dict[float, int]] = [{0.0: 2, 1.0: 1, 2.0: 2, 3.0: 1, 4.0: 1, 5.0: 1}] * 24
STATES: list[dict[float, int]] = [{float(label): 8} for label in (0, 0, 2, 1, 1, 3, 0, 2, 2, 5, 4, 0, 1, 5)]

# A buffer mixes two classes where they meet.
MIXED: list[dict[float, int]] = [
    classes
    for label in range(6)
    for classes in (
        {float(label): 5, float((label - 1) % 6): 3},
        {float((label - 1) % 6): 5, float(label): 3},
        *[{float(label): 8}] * 3,
    )
]
BUFFERED: list[Event] = [*batches(*MIXED, *MIXED, *MIXED)]
EVENTS: list[Event] = [*batches(*SORTED, *SORTED)]

HEALTHY: list[list[Event]] = [
    [*batches(*SHUFFLED)],
    [*batches(*[{1.0: 8}, {0.0: 8}] * 20, fn="binary_cross_entropy_with_logits")],  # real and fake
    [*batches(*SORTED)],  # one pass: tasks that come one after the other
    [*batches(*STATES, *STATES)],  # a time series: states come back
    # clients of a federated run, each with an optimizer of its own
    [event for _ in range(2) for label in range(6) for event in (BUILT, *batches(*[{float(label): 8}] * 4))],
    [*batches(*[{float(label): 8} for label in range(6)] * 4, fn="mse_loss")],
]
