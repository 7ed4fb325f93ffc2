"""The samples of a batch: only some of them, one with a NaN, the same ones in every step."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from premortem.changes.base import Change, Harm, Learning, OneStep, RunDescription
from premortem.changes.batches import leaves
from premortem.changes.late import nn, torch

_AT = 12  # the batch that holds the NaN


class SomeSamples(Change):
    """A batch holds only some of its samples (`settings["kept"]`).

    A sample that is left out is replaced by a copy of one that stays, so no shape changes.
    """

    name = "some-samples"
    one_step = OneStep(title="without single samples", size=1)

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        few = run.samples < 2 or run.failed_in_update
        return "there are no single samples to leave out" if few else ""

    def put_on(self) -> None:
        self.reach.keep_samples(list(self.settings["kept"]))


class NanSample(Change):
    """One sample holds a NaN."""

    name = "nan-sample"
    harm = Harm(
        families=frozenset({"numerics-nan", "numerics-masked"}),
        needs="gives its model no floating-point input",
    )

    def put_on(self) -> None:
        self._calls = 0
        self.reach.on_root_call(self._called)

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self._calls += self.reach.in_training(root)
        if self._calls != _AT or self.touched:
            return run(*args, **kwargs)
        return run(*map(self._with_nan, args), **self._with_nan(kwargs))

    def _with_nan(self, given: Any) -> Any:
        """The same with one number spoiled, in the first tensor that can hold NaN."""
        if type(given) in {list, tuple}:
            return type(given)(map(self._with_nan, given))
        if type(given) is dict:
            return {name: self._with_nan(each) for name, each in given.items()}
        if self.touched or not isinstance(given, torch.Tensor) or not given.numel():
            return given
        if not given.is_floating_point() and not given.is_complex():
            return given
        given = given.clone()
        given.view(-1)[given.numel() // 2] = float("nan")
        self.touched += 1
        return given


class SameBatch(Change):
    """Every step gets the first batch of the loader."""

    name = "same-batch"
    harm = Harm(families=frozenset({"data-order"}), needs="draws no batches from a DataLoader")
    learning = Learning(title="one batch again and again", question="one batch", where_stuck=True)

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        return "" if run.loader or run.targets else "the script draws no batches from a DataLoader"

    def put_on(self) -> None:
        first: dict[int, Any] = {}  # by dataset

        def again(drawn: Any, iterator: Any) -> Any:
            kept = first.setdefault(id(iterator._dataset), drawn)  # noqa: SLF001
            self.touched += kept is not drawn
            return copy.deepcopy(kept)

        self.reach.on_batch(again)
        if self.run.targets and not self.run.loader:
            self._put_on_by_hand()

    def _put_on_by_hand(self) -> None:
        """Batches that come from no loader: what a model was first trained on, and what it was then compared with."""
        inputs: dict[int, Any] = {}  # by model
        targets: list[torch.Tensor] = []  # in the order of the losses after a call
        compared = 0

        def called(root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
            nonlocal compared
            if not torch.is_grad_enabled() or any(t.requires_grad for t in leaves((args, kwargs))):
                return run(*args, **kwargs)
            compared = 0
            kept, named = inputs.setdefault(id(root), (args, kwargs))
            self.touched += kept is not args
            return run(*kept, **named)

        def wanted(target: torch.Tensor) -> torch.Tensor:
            nonlocal compared
            if not torch.is_grad_enabled() or target.grad_fn is not None:
                return target
            number, compared = compared, compared + 1
            targets.extend([target] * (number == len(targets)))
            return targets[number]

        self.reach.on_root_call(called)
        self.reach.on_target(wanted)
