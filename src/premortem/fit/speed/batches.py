"""What the script's loaders hand out: its own batches at first, and then one of them again and again."""

import functools
from typing import Any

import torch
from torch.utils import _pytree as tree
from torch.utils.data.dataloader import _BaseDataLoaderIter

from premortem.fit.speed.agenda import Turn
from premortem.fit.speed.scene import Scene
from premortem.points import Subscriptions


class Batches:
    """Iterators tell loaders apart: one for each pass over the data."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.turn: Turn | None = None
        self._kept: dict[int, list[Any]] = {}  # iterator -> the batches of the kept turn
        self._drawn: dict[int, list[Any]] = {}  # ... of this turn; None for one that was handed out again
        self._forms: dict[int, dict[Any, Any]] = {}  # ... one of each form that came
        self._handed = 0

    def install(self, points: Subscriptions) -> None:
        points.add(_BaseDataLoaderIter, "__next__", lambda original: functools.partial(self._next, original))

    def keep(self) -> None:
        """The turn that ends was the script's own: its batches are the ones to come."""
        own = {key: list(batches) for key, batches in self._drawn.items()}
        self._kept.update({key: batches for key, batches in own.items() if None not in batches})

    def begin(self, turn: Turn) -> None:
        self.turn = turn
        self._drawn = {} if turn.purpose == "run-in" else {key: [] for key in self._drawn}

    def _next(self, original: Any, iterator: Any) -> Any:
        key = id(iterator)
        kept = self._kept.get(key)
        if self.turn is None or self.turn.purpose == "run-in" or kept is None:
            try:
                batch = original(iterator)
            except StopIteration:
                if kept is None:
                    raise
                # The script's loop must not end here: it is given a batch that it had before.
            else:
                self._drawn.setdefault(key, []).append(batch)
                self._forms.setdefault(key, {}).setdefault(form_of(batch), batch)
                if self.scene.batches is None and hasattr(iterator, "__len__"):
                    self.scene.batches = len(iterator)
                return batch
        assert kept is not None  # noqa: S101 - returned or raised above
        return tree.tree_map_only(torch.Tensor, torch.clone, self._again(key, kept))

    def _again(self, key: int, kept: list[Any]) -> Any:
        forms = list(self._forms[key].values())
        drawn = self._drawn.setdefault(key, [])
        position = len(drawn)
        drawn.append(None)
        self._handed += 1
        if self.turn is not None and self.turn.real and len(forms) > 1:
            return forms[self._handed % len(forms)]
        return kept[position % len(kept)]


def form_of(batch: Any) -> tuple[Any, ...]:
    """The shapes of its tensors."""
    return tuple(tuple(t.shape) for t in tree.tree_leaves(batch) if isinstance(t, torch.Tensor))
