"""Which modules are models: those that the user's code calls, with their names, their parameters and their parts."""

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from premortem.events import Hidden, ModelSeen, Parameter
from premortem.probes.module_attributes import hasty_in, hidden_in, misspelt_in, repeated_in, said_frozen
from premortem.probes.session import Session, user_name, user_site, version
from premortem.probes.weight_checksums import same_weights

_DESCRIBED_EVERY = 64  # steps, in cruise

Variant = tuple[int, bool, bool]  # id() of a module, its mode, and whether gradients are on


def variant_of(module: nn.Module) -> Variant:
    return id(module), module.training, torch.is_grad_enabled()


class Model:
    """What is remembered of a root module: one that the user's code calls."""

    def __init__(self, module: nn.Module, key: int, name: str) -> None:
        self.module = weakref.ref(module)
        self.key = key
        self.name = name
        self.glance = 0
        self.identity = 0  # changes when parameters are added or replaced
        self.described_at = -1
        self.paths: dict[int, str] = {}
        self.hidden: tuple[Hidden, ...] = ()
        self.last_input: tuple[Any, int] | None = None
        self.last_weights_step = -9
        self.weights_taken = 0
        self.evaluated = (-1, 0)  # at which step, how many forwards without gradients
        self.recurrent: list[weakref.ref[nn.Module]] = []  # recurrent layers with dropout between them
        self.trained = False  # a loss of its was sent backward, or it ran with gradients


class ModelRegistry:
    """Every model that was called, and every module that was built."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.known: dict[int, Model] = {}
        self.on_birth: list[Callable[[nn.Module], None]] = []
        self.births: dict[int, tuple[weakref.ref[nn.Module], int]] = {}
        self.weightless: dict[int, weakref.ref[nn.Module]] = {}

    def built(self, module: nn.Module, *args: Any, **kwargs: Any) -> None:
        self.births[id(module)] = (weakref.ref(module), self.session.tick())
        for hears in self.on_birth:
            hears(module)

    def introduce(self, module: nn.Module) -> None:
        for part in module.modules():
            self.built(part)
        self.model_of(module)

    def has_weights(self, module: nn.Module) -> bool:
        """A criterion or a transform without parameters is called like a model, and is none."""
        if next(module.parameters(), None) is not None:
            return True
        known = self.weightless.get(id(module))
        if known is None or known() is not module:
            if any(True for _ in hidden_in("", module, self.session.parameters.of)):
                return True
            self.weightless[id(module)] = weakref.ref(module)
        return False

    def model_of(self, module: nn.Module) -> Model:
        key = self.session.modules.of(module)
        model = self.known.get(key)
        if model is None:
            name = user_name(module) or type(module).__name__
            model = self.known[key] = Model(module, key, name)
            self.session.look_closer()
            self._describe(model, module)
        elif self.session.auditing or self._may_have_changed(model, module):
            self._describe(model, module)
        return model

    def _may_have_changed(self, model: Model, module: nn.Module) -> bool:
        """Now and then in cruise, a glance: other parameters, or others that are frozen."""
        step = self.session.step
        if step % _DESCRIBED_EVERY or step == model.described_at:
            return False
        model.described_at = step
        return glance(module.parameters()) != model.glance

    def _describe(self, model: Model, module: nn.Module) -> None:
        """Tell the model's parameters, again when they are not the same objects any more."""
        named = list(module.named_parameters())
        hidden = list(hidden_in(model.name, module, self.session.parameters.of))
        misspelt = tuple(misspelt_in(model.name, module, self.session.parameters.of))
        frozen = tuple(said_frozen(model.name, module, self.session.parameters.of))
        identity = hash((tuple((id(p), p.requires_grad) for _, p in named), len(hidden), misspelt, frozen))
        model.described_at = self.session.step
        model.glance = glance(p for _, p in named)
        if identity == model.identity:
            return
        if model.identity:  # unfrozen, or a part replaced
            self.session.look_closer()
        model.identity = identity
        model.paths = {id(m): path for path, m in module.named_modules()}
        model.hidden = tuple(hidden)
        model.recurrent = [
            weakref.ref(m)
            for m in module.modules()
            if isinstance(m, nn.RNNBase) and m.dropout and m.num_layers > 1
        ]
        keys = self.session.parameters
        shapes = hash(tuple(tuple(p.shape) for _, p in named))
        original = self._copy_of(module, shapes)
        self.session.emit(
            ModelSeen(
                step=self.session.step,
                at=user_site(),
                model=model.key,
                name=model.name,
                kind=type(module).__name__,
                parameters=tuple(
                    Parameter(keys.of(p), f"{model.name}.{name}", tuple(p.shape), p.requires_grad)
                    for name, p in named
                ),
                hidden=model.hidden,
                copy_of=original.key if original is not None else None,
                same_weights=original is not None and same_weights(module, original.module()),
                shapes=shapes,
                writes=sum(version(p) for _, p in named),
                misspelt=misspelt,
                frozen=frozen,
                repeats=tuple(repeated_in(model.name, module)),
                hasty=tuple(hasty_in(model.name, module)),
            )
        )

    def _copy_of(self, module: nn.Module, shapes: int) -> Model | None:
        for other in self.known.values():
            its = other.module()
            if (
                its is not None
                and its is not module
                and type(its) is type(module)
                and hash(tuple(tuple(p.shape) for p in its.parameters())) == shapes
            ):
                return other
        return None

    def names(self) -> dict[int, tuple[str, int]]:
        """Parameter key -> (name, model key), over all models that were called."""
        found: dict[int, tuple[str, int]] = {}
        for model in self.known.values():
            module = model.module()
            if module is None:
                continue
            for name, parameter in module.named_parameters():
                found.setdefault(self.session.parameters.of(parameter), (f"{model.name}.{name}", model.key))
            for hidden in model.hidden:
                for index, key in enumerate(hidden.parameters):
                    found.setdefault(key, (f"{hidden.attribute}[{index}]", model.key))
        return found

    def owner_name(self, parameter: torch.Tensor) -> str:
        """ "Linear.weight", for a parameter of a module that no model knows."""
        for reference, _ in self.births.values():
            module = reference()
            for name, own in module._parameters.items() if module is not None else ():
                if own is parameter:
                    return f"{type(module).__name__}.{name}"
        return ""

    def birth_of(self, parameter_owner: nn.Module) -> int:
        known = self.births.get(id(parameter_owner))
        return known[1] if known is not None and known[0]() is parameter_owner else 0


def glance(parameters: Iterable[torch.Tensor]) -> int:
    return hash(tuple((id(p), p.requires_grad) for p in parameters))
