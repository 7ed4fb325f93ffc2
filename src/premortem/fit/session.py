"""One rehearsal: the user's own code runs on fakes until each optimizer has made two steps."""

import contextlib
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import nn
from torch.nn.modules import module as module_hooks
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import Optimizer
from torch.utils._pytree import tree_flatten

from premortem.fit import ledger as kinds
from premortem.fit.decisions import Autocast, Paths
from premortem.fit.fakes import Fakes
from premortem.fit.gpus import Gpu
from premortem.fit.ledger import Allocation
from premortem.fit.moving import settle
from premortem.fit.pretend import pretending
from premortem.fit.steps import Steps
from premortem.fit.trained import Trained
from premortem.points import Subscriptions, after_optimizer_steps, before_optimizer_steps

STEPS = 2  # the first makes the optimizer's state, the second has it while it runs


class Seen(BaseException):
    """Passes through the script's `except Exception`."""


@dataclass
class Trace:
    """What the rehearsal leaves: plain numbers and names."""

    allocations: list[Allocation]
    diary: list[int]
    marks: list[tuple[int, str]]
    steps: dict[str, int] = field(default_factory=dict)  # of each optimizer
    batch: int | None = None  # the first dimension of what the model is called with
    shapes: list[list[int]] = field(default_factory=list)
    modules: str = ""  # of the model that is trained
    assumptions: list[str] = field(default_factory=list)
    attention: dict[str, int] = field(default_factory=dict)
    operations: int = 0
    complete: bool = False  # each optimizer made its steps


class Rehearsal:
    """Watches modules and optimizers while fakes run."""

    def __init__(self, gpu: Gpu, seen: Callable[[], None] | None = None) -> None:
        self.gpu = gpu
        self.fakes = Fakes(gpu)
        self.points: Subscriptions | None = None
        self.paths = Paths(self.fakes.on_card, self.fakes.kernels)
        self.steps = Steps(STEPS, seen or self._raise)
        self._names: dict[int, str] = {}
        self._roots: weakref.WeakSet[nn.Module] = weakref.WeakSet()
        self._trained = Trained()

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        autocast = Autocast()
        hooks = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, with_kwargs=True, always_call=True),
        ]
        take_off = [before_optimizer_steps(self._step_begins), after_optimizer_steps(self._step_ends)]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*(fake|Fake|CUDA is not available|lr_scheduler).*")
            try:
                autocast.install()
                self.paths.install()
                with pretending(self.fakes) as self.points, self.fakes:
                    self.steps.install(self.points, self._trained.sent_backward)
                    yield
            finally:
                for remove in (*take_off, *(hook.remove for hook in hooks)):
                    remove()
                # torch leaves this mark when the hook is gone, and takes it for a hook.
                getattr(module_hooks, "_global_forward_hooks_with_kwargs", {}).pop(hooks[1].id, None)
                self.paths.remove()
                autocast.remove()

    def trace(self) -> Trace:
        """May be asked for at any time."""
        ledger = self.fakes.ledger
        trained = self._trained
        return Trace(
            allocations=ledger.allocations,
            diary=ledger.diary,
            marks=ledger.marks,
            steps=self.steps.made(),
            batch=trained.batch,
            shapes=trained.shapes,
            modules=type(trained.model).__name__ if trained.model is not None else "",
            assumptions=[_times(text, n) for text, n in self.fakes.values.assumed.most_common()],
            attention=dict(self.paths.attention),
            operations=self.fakes.operations,
            complete=self.steps.complete,
        )

    @property
    def model(self) -> nn.Module | None:
        """The one that is trained."""
        return self._trained.model

    def optimizer_names(self) -> list[str]:
        return self.steps.names()

    # -- modules --------------------------------------------------------------------------

    def _enter(self, module: nn.Module, args: Any) -> None:
        modules = self.fakes.ledger.modules
        if not modules and module not in self._roots:
            self._new_root(module)
        modules.append(self._names.get(id(module)) or type(module).__name__)

    def _leave(self, module: nn.Module, args: Any, *rest: Any) -> None:
        """`rest` is the named arguments and the result; only the result when the module raised."""
        modules = self.fakes.ledger.modules
        if modules:
            modules.pop()
        if not modules:
            self._trained.called(module, (args, *rest[:-1]), rest[-1])
        if self.fakes.lazy and not modules:
            settle(self.fakes, module)

    def _new_root(self, module: nn.Module) -> None:
        self._roots.add(module)
        several = len(self._roots) > 1
        prefix = f"{type(module).__name__}." if several else ""
        for name, part in module.named_modules():
            self._names.setdefault(id(part), f"{prefix}{name}" if name else type(module).__name__)
        ledger = self.fakes.ledger
        for weight in module.parameters():
            ledger.call(weight, kinds.PARAMETERS)
        for buffer in module.buffers():
            ledger.call(buffer, kinds.BUFFERS)

    # -- optimizers -----------------------------------------------------------------------

    def _step_begins(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self.steps.meet(optimizer)
        self.fakes.ledger.stepping += 1
        self._name(optimizer)

    def _name(self, optimizer: Optimizer) -> None:
        ledger = self.fakes.ledger
        for group in optimizer.param_groups:
            for weight in group["params"]:
                ledger.call(weight, kinds.PARAMETERS)
                ledger.call(weight.grad, kinds.GRADIENTS)

    def _step_ends(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        ledger = self.fakes.ledger
        ledger.stepping = max(ledger.stepping - 1, 0)
        self._name(optimizer)
        for state in list(optimizer.state.values()):
            for tensor in tree_flatten(state)[0]:
                ledger.call(tensor, kinds.STATE)
        ledger.mark(self.steps.count(optimizer))
        self.steps.check()

    @staticmethod
    def _raise() -> None:
        raise Seen


def _times(text: str, count: int) -> str:
    return text if count == 1 else f"{text} ({count} times)"


def rehearse(step: Callable[[], Any], gpu: Gpu, *, most: int = 8) -> Trace:
    """Call a function until everything was seen: one that trains once, or one that makes one step."""
    rehearsal = Rehearsal(gpu)
    with contextlib.suppress(Seen), rehearsal.on():
        for _ in range(most):
            step()
    return rehearsal.trace()
