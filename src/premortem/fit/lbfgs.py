"""LBFGS decides by values when to stop. Here it goes on: to its last iteration, with its whole history."""

from typing import Any

import torch
from torch.optim import LBFGS


def step(self: LBFGS, closure: Any) -> Any:
    """One step's allocations, in torch's order."""
    closure = torch.enable_grad()(closure)
    group = self.param_groups[0]
    state = self.state[group["params"][0]]
    loss = closure()
    flat = self._gather_flat_grad()
    for _ in range(group["max_iter"]):
        previous = state.get("prev_flat_grad")
        if previous is None:
            state["d"] = flat.neg()
            state["old_dirs"], state["old_stps"], state["ro"] = [], [], []
            state["prev_flat_grad"] = flat.clone(memory_format=torch.contiguous_format)
        else:
            change, way = flat.sub(previous), state["d"].mul(1.0)
            while len(state["old_dirs"]) < group["history_size"]:
                state["old_dirs"].append(change.clone())
                state["old_stps"].append(way.clone())
            state["old_dirs"][-1], state["old_stps"][-1] = change, way
            q = flat.neg()
            state["d"] = q.mul(1.0)
            previous.copy_(flat)
        loss = closure()
        flat = self._gather_flat_grad()
    return loss
