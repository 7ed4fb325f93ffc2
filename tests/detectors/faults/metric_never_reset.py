from premortem.events import Event, MetricCounted


def run(*updates: int, computed: bool = True, kind: str = "MulticlassAccuracy") -> list[Event]:
    facts = {"metric": 1, "kind": kind, "loader": 1, "computed": computed}
    return [MetricCounted(step=10 * n, updates=number, **facts) for n, number in enumerate(updates)]


EVENTS = run(30, 60, 90)
HEALTHY = [
    run(30, 30, 30),
    run(30, 60),
    run(30, 60, 90, computed=False),
    run(1, 2, 3, 4),
    run(30, 60, 90, kind="MeanMetric"),  # seconds of a step, over the whole run
    run(30, 60, 30, 60),
]
