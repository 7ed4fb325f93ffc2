"""Attributes of modules that do not do what their names say: parts torch does not see, flags that nothing reads."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from premortem.events import Hasty, Hidden, Misspelt, Repeated, SaidFrozen

T = TypeVar("T")
_BOOKKEEPING = frozenset(vars(nn.Module()))
_FREEZE = re.compile(r"(?:^|_)(?:frozen|freeze)(?:_|$)")
_HALF = 0.5
_PARTS = frozenset({"stages", "layers", "blocks", "stage", "layer", "block"})


def hidden_in(name: str, module: nn.Module, key_of: Callable[[Any], int]) -> Iterable[Hidden]:
    """Trainable parameters in plain lists and dictionaries: `parameters()` of the module does not give them."""
    registered = {id(m) for m in module.modules()}
    own = {id(p) for p in module.parameters()}
    for path, owner in module.named_modules():
        for attribute, value in vars(owner).items():
            if attribute.startswith("_") and attribute in _BOOKKEEPING:
                continue
            inside = [m for m in in_containers(value, nn.Module) if id(m) not in registered]
            bare = [p for p in in_containers(value, nn.Parameter) if id(p) not in own]
            held = tuple(
                key_of(p) for p in [*bare, *(p for m in inside for p in m.parameters())] if p.requires_grad
            )
            if held:
                place = ".".join(part for part in (name, path, attribute) if part)
                yield Hidden(place, type(value).__name__, len(inside), held)


def in_containers(value: Any, kind: type[T], depth: int = 0) -> Iterable[T]:
    items: Iterable[Any] = ()
    if isinstance(value, (list, tuple, set)):
        items = value
    elif isinstance(value, dict):
        items = value.values()
    for item in items:
        if isinstance(item, kind):
            yield item
        elif depth < 2:
            yield from in_containers(item, kind, depth + 1)


def said_frozen(name: str, module: nn.Module, key_of: Callable[[Any], int]) -> Iterable[SaidFrozen]:
    """`frozen_stages = 2` of a model with stages, `freeze_encoder = True` of a model with an encoder."""
    for path, owner in module.named_modules():
        for attribute, value in vars(owner).items():
            if not _FREEZE.search(attribute) or not isinstance(value, int) or value <= 0:
                continue
            words = [word for word in _FREEZE.sub("_", attribute).split("_") if word]
            part = getattr(owner, "_".join(words), None) if words else None
            whole = bool(_PARTS & set(words)) and not isinstance(value, bool)
            if isinstance(part, nn.Module) or whole:
                held = part if isinstance(part, nn.Module) else owner
                place = ".".join(each for each in (name, path, attribute) if each)
                yield SaidFrozen(place, str(value), tuple(key_of(p) for p in held.parameters()))


def repeated_in(name: str, module: nn.Module) -> Iterable[Repeated]:
    """Layers with weights of which one object has several places of the same list."""
    for path, owner in module.named_modules():
        if isinstance(owner, (nn.ModuleList, nn.Sequential)) and len(owner) > 1:
            places: Mapping[str, nn.Module | None] = owner._modules  # None: a layer left out
            held = [layer for layer in places.values() if layer is not None]
            layers = {id(layer): layer for layer in held}
            for key, times in Counter(map(id, held)).items():
                layer = layers[key]
                if times > 1 and next(layer.parameters(), None) is not None:
                    place = ".".join(part for part in (name, path) if part)
                    yield Repeated(place, type(layer).__name__, times)


def hasty_in(name: str, module: nn.Module) -> Iterable[Hasty]:
    """Batch norms in whose statistics the last batch weighs more than all before it together."""
    for path, layer in module.named_modules():
        momentum = getattr(layer, "momentum", None)
        if isinstance(layer, _NormBase) and layer.track_running_stats and momentum and momentum > _HALF:
            yield Hasty(".".join(part for part in (name, path) if part), float(momentum))


def misspelt_in(name: str, module: nn.Module, key_of: Callable[[Any], int]) -> Iterable[Misspelt]:
    """Flags like `p.require_grad = True` or `model.backbone.requires_grad = False`: they do nothing."""
    for path, owner in module.named_modules():
        place = ".".join(part for part in (name, path) if part)
        for attribute, value in vars(owner).items():
            if attribute.startswith("require") and isinstance(value, bool) and not uses(owner, attribute):
                yield Misspelt(place, attribute, value, tuple(key_of(p) for p in owner.parameters()))
        for own, parameter in owner._parameters.items():
            for attribute, value in vars(parameter).items() if parameter is not None else ():
                if attribute.startswith("require") and isinstance(value, bool):
                    yield Misspelt(f"{place}.{own}", attribute, value, (key_of(parameter),))


def uses(module: nn.Module, attribute: str) -> bool:
    """Whether the module's class has an attribute of that name for a purpose of its own."""
    own = [
        cls
        for cls in type(module).__mro__
        if not cls.__module__.startswith("torch.")
        or cls.__module__.startswith(
            ("torch.nn.parallel.", "torch.distributed.")
        )  # `require_backward_grad_sync`
    ]
    methods = [getattr(method, "__code__", None) for cls in own for method in vars(cls).values()]
    return any(code is not None and attribute in (*code.co_names, *code.co_varnames) for code in methods)
