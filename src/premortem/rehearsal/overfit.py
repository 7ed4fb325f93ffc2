"""One batch again and again: with the same random numbers the loss is a function of the weights alone, so that some rate
must bring it down, unless the gradients are not those of this loss.
"""

import copy
import math
from typing import Any

import torch

from premortem.rehearsal.observations import Overfit
from premortem.tensors import generators

_TURNS = 10  # steps of one trial
_RATES = (1.0, 0.1, 0.01, 10.0)  # of the script's own
_CLEAR = 0.02  # of the loss
_MOTION = {"momentum_buffer", "exp_avg"}  # means of earlier gradients, as torch's optimizers call them


class Trials:
    """Each turn is one turn of the script's own loop, from one optimizer step to the next."""

    def __init__(self, models: list[torch.nn.Module], optimizer: Any) -> None:
        self.result = Overfit(tried=True)
        self.over = False
        self._optimizer = optimizer
        self._tensors = [t for m in models for t in (*m.parameters(), *m.buffers())]
        held = [p for group in optimizer.param_groups for p in group["params"]]
        self._tensors = list({id(t): t for t in [*self._tensors, *held]}.values())
        self._copies = [t.detach().clone() for t in self._tensors]
        self._state = copy.deepcopy(optimizer.state_dict())
        self._chance = generators.now()
        self._losses: list[float] = []
        self._window: list[float] = []
        self._rates: list[tuple[dict[str, Any], Any]] = []
        self._begin_trial()

    def _begin_trial(self) -> None:
        self.result.rates.append(_RATES[len(self.result.rates)])
        self._losses = []
        with torch.no_grad():
            for tensor, kept in zip(self._tensors, self._copies, strict=True):
                tensor.copy_(kept)
        self._optimizer.load_state_dict(copy.deepcopy(self._state))
        # What other batches have set in motion says nothing about the gradients of this one.
        for state in self._optimizer.state.values():
            for name in _MOTION & state.keys():
                if isinstance(state[name], torch.Tensor):
                    state[name].zero_()

    def loss(self, value: float) -> None:
        self._window.append(value)

    def stepping(self) -> None:
        factor = self.result.rates[-1]
        for group in self._optimizer.param_groups:
            self._rates.append((group, group["lr"]))
            group["lr"] = group["lr"] * factor
        if not self._losses and len(self.result.rates) == 1:
            held = [p.grad for group in self._optimizer.param_groups for p in group["params"]]
            squares = [
                float(g.detach().float().pow(2).sum()) for g in held if g is not None and not g.is_sparse
            ]
            self.result.gradient = math.sqrt(sum(squares))

    def stepped(self) -> None:
        for group, rate in self._rates:
            group["lr"] = rate
        self._rates.clear()
        self._losses.append(sum(self._window))
        self._window.clear()
        self.result.steps += 1
        self._judge()
        self._chance.put_back()

    def _judge(self) -> None:
        result, first = self.result, self._losses[0]
        if result.first is None:
            result.first = first
        later = [loss for loss in self._losses[1:] if math.isfinite(loss)]
        result.best = min([*later, *([result.best] if result.best is not None else [])], default=None)
        if result.best is not None and result.best < first - _CLEAR * abs(first):
            self.over = True
        elif len(self._losses) > _TURNS:
            if len(result.rates) == len(_RATES):
                self.over = result.enough = True
            else:
                self._begin_trial()
