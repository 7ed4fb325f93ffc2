"""A closure makes the gradients inside the step: what is measured before a step is measured after it."""

from __future__ import annotations

import pytest
import torch

from premortem.events import Custody, Event, StepStats
from premortem.run.watcher import Watcher
from tests.integrations.doors import Net, loader_for, optimizer_for


class Recorder(Watcher):
    def __init__(self, policy: str) -> None:
        super().__init__(policy)
        self.heard: list[Event] = []

    def emit(self, event: Event) -> None:
        self.heard.append(event)
        super().emit(event)


def train(policy: str, fault: str, *, closure: bool) -> tuple[Recorder, list[torch.Tensor]]:
    model = Net(fault)
    optimizer = optimizer_for(model)
    watcher = Recorder(policy)
    watcher.attach()
    watcher.introduce([model, optimizer])
    try:
        for batch in loader_for(fault):

            def compute(batch: dict[str, torch.Tensor] = batch) -> torch.Tensor:
                loss = model(**batch)["loss"]
                optimizer.zero_grad()
                loss.backward()
                return loss

            if closure:
                optimizer.step(compute)
            else:
                compute()
                optimizer.step()
    finally:
        watcher.close()
    return watcher, [parameter.detach().clone() for parameter in model.parameters()]


@pytest.mark.parametrize("policy", ["observe", "protect"])
@pytest.mark.parametrize("fault", ["healthy", "head in no optimizer"])
def test_a_loop_with_a_closure_is_seen_like_one_without(policy: str, fault: str) -> None:
    (plain, weights), (inside, same) = (train(policy, fault, closure=each) for each in (False, True))
    for kind in (StepStats, Custody):
        counts = [sum(isinstance(event, kind) for event in each.heard) for each in (plain, inside)]
        assert counts[0] == counts[1] > 0, kind
    norms = [[e.grad_norm for e in each.heard if isinstance(e, StepStats)] for each in (plain, inside)]
    assert norms[0] == norms[1]
    assert [f.code for f in inside.findings] == [f.code for f in plain.findings]
    assert all(torch.equal(a, b) for a, b in zip(weights, same, strict=True)), "nothing was changed"
