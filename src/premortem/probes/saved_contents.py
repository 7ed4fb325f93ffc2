"""What is in a thing that the script saves: which of the weights that are being trained, and whether they are sound."""

import weakref
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from premortem.events import Site
from premortem.probes.modules import Models
from premortem.probes.ruined_buffers import Ruined
from premortem.probes.session import Session, user_site
from premortem.probes.states import States, finite
from premortem.vault.health import examine
from premortem.vault.save_verdict import Looked

_DEPTH = 4  # of dictionaries and lists in each other
_WIDE = 4096  # entries of a list that are looked at
ALL_ZERO = ("all of them",)


class _Part(NamedTuple):
    """The state of a model, or some of it, in the thing that is saved."""

    path: str
    module: nn.Module
    own: Mapping[str, torch.Tensor]
    names: Mapping[str, bool]  # whether each of the model's is trained


class Saved:
    def __init__(self, session: Session, states: States, models: Models) -> None:
        self.session = session
        self.states = states
        self.models = models
        self._names: weakref.WeakKeyDictionary[nn.Module, dict[str, bool]] = weakref.WeakKeyDictionary()
        self._ruined = Ruined()

    def look(self, thing: Any) -> Looked:
        """Reads every trained weight in it once, and the buffers of the models that are trained."""
        tensors, checkpoint = 0, isinstance(thing, nn.Module)
        for _, value, inside in leaves(thing):
            if isinstance(value, torch.Tensor):
                tensors += value.numel() * value.element_size()
                checkpoint = checkpoint or inside
            elif isinstance(value, nn.Module):
                checkpoint = True
        models = list(self._models_in(thing))
        trained = {
            path + name: own[name] for path, _, own, names in models for name in own if names.get(name)
        }
        broken = broken_among(trained)
        if broken == list(ALL_ZERO) and not self.session.step:  # before training some layers begin that way
            broken = []
        ruined: list[str] = []
        for path, module, own, names in models:
            if any(names.get(name) for name in own):  # a frozen model may hold what it likes
                held = {name for name, _ in module.named_buffers(remove_duplicate=False)}
                buffers = {name: value for name, value in own.items() if name in held}
                ruined += self._ruined.among(module, buffers, path)
        wrong = tuple((broken or ruined)[:8])
        return Looked(checkpoint, len(trained), wrong, tensors, user_site(), bool(ruined and not broken))

    def where(self) -> Site | None:
        """The line of the script that is saving or loading."""
        return user_site()

    def filled(self) -> None:
        """A checkpoint is being read into memory that is there already."""
        self.states.filled()

    def told(self, thing: Any, path: str) -> None:
        """It was saved to `path`: what other probes say of a save."""
        self.states.told_saved(thing, path)

    def _models_in(self, thing: Any, path: str = "", depth: int = 0) -> Iterator[_Part]:
        if isinstance(thing, nn.Module):
            parameters = dict(thing.named_parameters())
            names = {name: parameter.requires_grad for name, parameter in parameters.items()}
            yield _Part(path, thing, {**parameters, **dict(thing.named_buffers())}, names)
        elif isinstance(thing, Mapping) and depth < _DEPTH:
            own = {k: v for k, v in thing.items() if isinstance(k, str) and isinstance(v, torch.Tensor)}
            owner = self._owner(own)
            if owner is not None:
                yield _Part(path, owner, own, self._names[owner])
            for name, value in thing.items():
                if not isinstance(value, torch.Tensor):
                    yield from self._models_in(value, f"{path}{name}.", depth + 1)

    def _owner(self, own: Mapping[str, Any]) -> nn.Module | None:
        """The model whose weights these are, or some of them."""
        if not own:
            return None
        live = [module for known in self.models.known.values() if (module := known.module()) is not None]
        for module in [*self.states.asked(), *live]:
            names = self._names.get(module)
            if names is None:
                names = self._names[module] = {
                    name: parameter.requires_grad
                    for name, parameter in module.named_parameters(remove_duplicate=False)
                } | {name: False for name, _ in module.named_buffers(remove_duplicate=False)}
            if names and all(name in names for name in own):
                return module
        return None


def leaves(thing: Any, depth: int = 0) -> Iterator[tuple[str, Any, bool]]:
    """(name, value, whether it lies in a dictionary under a name), as far down as checkpoints go."""
    if isinstance(thing, Mapping) and depth < _DEPTH:
        for name, value in thing.items():
            if isinstance(value, (Mapping, list, tuple)):
                yield from leaves(value, depth + 1)
            else:
                yield str(name), value, True
    elif isinstance(thing, (list, tuple)) and depth < _DEPTH:
        for value in thing[:_WIDE]:
            yield from leaves(value, depth + 1)
    else:
        yield "", thing, False


def broken_among(trained: Mapping[str, torch.Tensor]) -> list[str]:
    """The names of those that are not finite; `ALL_ZERO` when there is nothing but zeros in all matrices."""
    dense = {
        name: value.detach()
        for name, value in trained.items()
        if value.layout == torch.strided and value.numel() and value.device.type != "meta"
    }
    health = examine(dense)
    # Infinity beside zeros alone is meant: a mask.
    broken = [name for name in health.non_finite if not finite(dense[name])]
    matrices = {name for name, value in dense.items() if value.dim() > 1 and value.numel() > 8}
    if not broken and len(matrices) > 1 and matrices <= set(health.all_zero):
        return list(ALL_ZERO)
    return broken
