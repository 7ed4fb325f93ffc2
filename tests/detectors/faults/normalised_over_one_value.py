from dataclasses import replace

from premortem.events import Event, LayerStats, Site, Softmaxed, StepStats

AT = Site("train.py", 12, "forward")


def softmaxed(step: int, *, size: int = 1, line: int = 12) -> Softmaxed:
    return Softmaxed(
        step=step,
        at=AT._replace(line=line),
        op="softmax",
        shape=(32, 14, size),
        dimension=2,
        samples=32,
        inside=True,
    )


def layer(
    step: int, *, kind: str = "LayerNorm", spread: float = 1.0, low: float = 0.0, high: float = 0.0
) -> LayerStats:
    return LayerStats(
        step=step,
        model=1,
        layer="model.norm",
        kind=kind,
        order=-1,
        last=False,
        grad=True,
        training=True,
        samples=32,
        input_mean=0.0,
        input_std=spread,
        input_min=-1.0,
        input_max=1.0,
        output_mean=low,
        output_std=high - low,
        output_min=low,
        output_max=high,
        finite=True,
    )


def one_component(gradient: float) -> list[Event]:
    """A softmax over the single component of each sample, and what the gradients of the step are."""
    return [
        event
        for step in range(8)
        for event in (
            replace(softmaxed(step), shape=(200, 1), dimension=1),
            StepStats(step=step, optimizer=1, loss=1.0, grad_norm=gradient, worst=None),
        )
    ]


EVENTS: list[Event] = [softmaxed(step) for step in range(4)]
NORM: list[Event] = [layer(step) for step in range(6)]
ONE_OUTPUT: list[Event] = one_component(0.0)  # a classifier with one output: nothing learns
HEALTHY: list[list[Event]] = [
    [softmaxed(step, size=size) for step in range(8) for size in (1, 2, 3)],  # a memory that grows
    [softmaxed(step, line=step) for step in range(8)],
    [layer(step, high=1.0) for step in range(8)],
    [layer(step, spread=0.0) for step in range(8)],
    one_component(0.3),  # a mixture of one component, beside others of more
    [layer(step, kind="Linear") for step in range(8)],  # zeros to begin with
]
