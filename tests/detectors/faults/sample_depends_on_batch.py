from premortem.events import Event, Group, OptimizerBuilt
from tests.detectors.faults.rows_treated_differently import asked


def built(optimizer: int) -> OptimizerBuilt:
    return OptimizerBuilt(optimizer=optimizer, kind="Adam", groups=(Group(0.1, 0.0, 0.0, (optimizer,)),))


MIXED: dict[str, float] = {"other": 0.2, "order": 0.0}
EVENTS: list[Event] = [built(1), *asked(**MIXED)]
HEALTHY: list[list[Event]] = [
    [built(1), *asked()],
    [built(1), *asked(**MIXED, batched=False)],  # a graph, a bag, a sequence
    [built(1), *asked(**MIXED, statistics=True)],
    [built(1), *asked(**MIXED, source=2)],  # a critic
    [built(1), built(2), *asked(**MIXED)],
    [built(1), *asked(**MIXED, same_input=True)],
]
