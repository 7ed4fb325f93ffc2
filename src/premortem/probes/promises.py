"""How a target of reinforcement learning is made up: r + c * q, and for which rows the second part is there."""

from __future__ import annotations

import torch

from premortem.events import Promise
from premortem.metric_words import TERMINAL, words

_FEW = 8  # rows
_SOME = 2  # of them in which there is a next value: ends are rare
_EXACT = 1e-5  # of the largest number: what two ways of rounding may differ by in float32
# A discount: below a half, the next value would hardly count; above one it would grow without end.
_LEAST, _MOST = 0.5, 1.0
_ENDED = TERMINAL | frozenset("d done dones finished ended".split())
_REWARDS = frozenset("r rs rew rews reward rewards".split())
_RARE = 0.5
_NOT = frozenset("not non no mask masks".split())


def promise_of(
    wanted: torch.Tensor, named: list[tuple[str, torch.Tensor]], best: list[torch.Tensor]
) -> Promise | None:
    """The one sum of the script's own variables that gives this target, row by row; None where there is none."""
    if not wanted.is_floating_point() or wanted.numel() < _FEW or wanted.numel() != wanted.shape[0]:
        return None
    target = wanted.reshape(-1).double()
    here = [(n, t.detach().reshape(-1).double()) for n, t in named if t.numel() == len(target)]
    rewards = [(n, t) for n, t in here if words(n) & _REWARDS and not torch.equal(t, target)]
    flags = [(n, t) for n, t in here if words(n) & _ENDED and not words(n) & _NOT]
    # One that is `done` may have been cut off by a limit of time, where another flag says what is its end.
    flags = [(n, t) for n, t in flags if words(n) & TERMINAL] or flags
    # Ends are rare: what is 1 in most rows says that an episode goes on, whatever its name.
    flags = [(n, t) for n, t in flags if bool(((t == 0) | (t == 1)).all()) and 0 < float(t.mean()) < _RARE]
    nexts = [t.reshape(-1).double() for t in best if t.numel() == len(target)]
    answers = len(nexts)  # of models; the others are variables that may be anything
    nexts += [t for n, t in here if not words(n) & (_REWARDS | _ENDED) and not torch.equal(t, target)]
    if not rewards:
        return None
    flag, ended = flags[0] if flags else ("", torch.zeros_like(target))
    parts = (("all", torch.ones_like(target)), ("going on", 1 - ended), ("ended", ended))
    for name, reward in rewards:
        for value in nexts[:answers]:
            for part in (part for _, part in (parts[:2] if flag else parts[:1])):
                factor = _factor(target - reward, value.amax() * part, varied=False)
                if factor is not None and float(value.std()) > 0:
                    return Promise(factor, name, flag, 0, "one for all")
    for name, reward in [*rewards, ("", torch.zeros_like(target))]:
        for value in nexts if name else nexts[:answers]:
            for counted, part in parts if flag else parts[:1]:
                factor = _factor(target - reward, value * part)
                # What is the same in all rows that count may be anything: a flag, an action, a reward in other units.
                if factor is not None and value[part > 0].unique().numel() > 1:
                    marked = int(((ended == 1) & (value.abs() > _EXACT * value.abs().amax())).sum())
                    return Promise(factor, name, flag, marked, counted)
    return None


def _factor(rest: torch.Tensor, value: torch.Tensor, *, varied: bool = True) -> float | None:
    """c, where rest = c * value in every row."""
    square = float(value @ value)
    if not square or int((value.abs() > 0).sum()) < _SOME:
        return None
    factor = float(rest @ value) / square
    if not _LEAST <= factor <= _MOST + _EXACT or (varied and float(value.std()) == 0):
        return None
    scale = float(rest.abs().amax())
    return factor if float((rest - factor * value).abs().amax()) <= _EXACT * max(scale, 1.0) else None
