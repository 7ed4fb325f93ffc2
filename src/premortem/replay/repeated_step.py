"""In the script's process: the recorded step instead of its own, as often as the plan asks for it.

    the script starts as always
    its first step            refused; from here on it is where the recorded run was when the step began
    ─ restore                 weights, buffers, optimizers, random states, as in the capsule
    │ next batch              the recorded one
    │ forward, backward       the script's own code
    └ optimizer.step()        refused, judged: one trial. The loop goes on, which is the next trial

Each turn of the user's own loop is one trial, and every trial starts from the same state.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.amp.grad_scaler import GradScaler
from torch.nn.utils import clip_grad
from torch.optim.optimizer import Optimizer
from torch.utils.data.dataloader import DataLoader, _BaseDataLoaderIter

from premortem import changes
from premortem.changes.reach import Reach
from premortem.changes.summands import Summands
from premortem.probes.graph import walk
from premortem.probes.microscope import Microscope
from premortem.probes.session import tensors_in
from premortem.replay.collect import digest, exact, gradients, held
from premortem.replay.python_births import PythonBirths
from premortem.replay.recorded import Recorded
from premortem.replay.restore import Restorer
from premortem.replay.step_reach import LOW, Policies, StepReach, as_recorded, unseen
from premortem.replay.trial import Result, Trial
from premortem.replay.verdict import broken_gradients, certificate, finite, names_in, updated
from premortem.tensors.sharding import is_shard, local

if TYPE_CHECKING:
    from premortem.probes import Attachment
    from premortem.probes.model_registry import Model
    from premortem.replay.capsule import Capsule
    from premortem.replay.order import Order

Next = Callable[["Result | None"], "Trial | None"]


class Finished(SystemExit):
    """The plan is done, or goes on in another process. Passes through `except Exception`."""


class Stage:
    """`next_trial` is called with what came of a trial, and returns what to do next; None ends the script."""

    def __init__(
        self,
        capsule: Capsule,
        attachment: Attachment,
        next_trial: Next,
        order: Order,
    ) -> None:
        manifest = capsule.manifest
        self.capsule = capsule
        self.attachment = attachment
        self.next_trial = next_trial
        self.restorer = Restorer(capsule, attachment)
        self.recorded = Recorded(capsule, order.rank)
        position = order.launch.get("position")
        self.target = manifest["optimizer"]
        self.trial: Trial | None = None
        self.over = False
        self._alone = order.alone
        self._start = manifest.get("random")
        # The first step of a run has no step before it at whose end one could begin.
        self._first = manifest["number"] <= 1
        self._run_in = min(1, manifest["steps"]) if position is None else position
        self._skipping = position is not None  # far from the step: its turns are only counted
        self._passed = 0
        self._losses: list[dict[str, Any]] = []
        self._terms: Summands | None = None
        self._reach: StepReach | None = None
        self._found: list[Any] = []
        self._microscope: Microscope | None = None
        # Over all that the script does, from its start.
        self._outside: PythonBirths | None = None
        self._whole = self._lens(whole=True) if order.launch.get("whole") else None
        self._autocast = False
        self._policies = Policies(wide=bool(order.launch.get("wide")))
        self._open = ExitStack()

    # -- installing -----------------------------------------------------------------------

    def install(self) -> None:
        session = self.attachment.session
        session.patch(Optimizer, "profile_hook_step", self._wrap_hooked)
        session.patch(GradScaler, "step", self._wrap_scaler_step)
        session.patch(GradScaler, "update", lambda original: lambda scaler, new_scale=None: None)
        session.patch(nn.Module, "__call__", self._wrap_call)
        session.patch(_BaseDataLoaderIter, "__next__", self._wrap_next)
        session.patch(torch.autograd, "backward", self._wrap_backward)
        if self.capsule.manifest.get("guarded") and hasattr(clip_grad, "_clip_grads_with_norm_"):
            session.patch(clip_grad, "_clip_grads_with_norm_", as_recorded)
        session.patch(torch.amp.autocast_mode.autocast, "__enter__", self._wrap_autocast)
        Reach(order=0, ours=lambda: session.looking).on_target(self._recorded_target)
        if (self.capsule.manifest.get("ranks") or {}).get("sharded"):
            self._policies.install(session)
        if self._whole is not None:
            # What a worker makes is not seen, so the data is made in this process.
            session.patch(DataLoader, "_get_iterator", self._wrap_iterator)
            self._whole.__enter__()
        if self._outside is not None:
            self._outside.__enter__()

    def _wrap_iterator(self, original: Any) -> Any:
        def _get_iterator(loader: Any) -> Any:
            before = (loader.num_workers, loader.timeout)
            loader.num_workers, loader.timeout = 0, 0
            try:
                return original(loader)
            finally:
                loader.num_workers, loader.timeout = before

        return _get_iterator

    def _wrap_hooked(self, original: Any) -> Any:
        def profile_hook_step(func: Any) -> Any:
            @functools.wraps(func)
            def step(optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
                closure = args[0] if args else kwargs.get("closure")
                value = None
                if closure is not None:
                    with torch.enable_grad():
                        value = closure()
                self.closing(optimizer, functools.partial(func, optimizer))
                return value

            return original(step)

        return staticmethod(profile_hook_step)

    def _wrap_scaler_step(self, original: Any) -> Any:
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not scaler.is_enabled():
                return optimizer.step(*args, **kwargs)
            if self.trial is not None:
                with suppress(RuntimeError):  # the script has called it already
                    scaler.unscale_(optimizer)
            # It would not call an optimizer whose gradients are infinite: the trial ends here.
            self.closing(optimizer, functools.partial(inspect.unwrap(type(optimizer).step), optimizer))
            return None

        return step

    def _wrap_autocast(self, original: Any) -> Any:
        def __enter__(context: Any) -> Any:  # noqa: N807
            self._autocast |= context._enabled  # noqa: SLF001 - it has no public way to ask
            return original(context)

        return __enter__

    # -- the turns of the user's loop -----------------------------------------------------

    def closing(self, optimizer: Any, update: Callable[[], Any]) -> None:
        """An optimizer is about to step: it will not."""
        key = self.attachment.session.optimizers.known(optimizer)
        tracks = list(self.attachment.optimizers.tracks)
        mine = key in tracks and tracks.index(key) == self.target
        if self.over:
            raise Finished(0)
        if self.trial is not None and mine:
            self.restorer.before_update(self.target, optimizer)
            self.end(self._judge(optimizer, update))
        elif self.trial is not None:
            self._begin_window()  # another optimizer's part of the turn is over
        else:
            if self._whole is not None:
                self._whole.step_passed()
            self._passed += mine
            if mine and self._passed >= self._run_in:
                self._begin(None)

    def end(self, result: Result) -> None:
        """What came of the trial; the next one begins, or the script ends here."""
        self._open.close()
        self._begin(result)

    def _begin(self, result: Result | None) -> None:
        self.trial = self.next_trial(result)
        if self.trial is None:
            self.over = True
            raise Finished(0)
        self.recorded.begin()
        self._begin_window()

    def _begin_window(self) -> None:
        assert self.trial is not None  # noqa: S101 - only called inside a trial
        self._open.close()
        self._open = ExitStack()
        with unseen(self.attachment.session):
            self.restorer.begin()
            if not self._first:
                self.restorer.random(self._start)
            self.recorded.begin_window()
        self._losses, self._found = [], []
        modules = [m for model in self.attachment.models.known.values() if (m := model.module()) is not None]
        self._reach = StepReach(self.attachment.session, self.recorded, modules)
        self._open.callback(self._reach.end)
        self._put_on(self.trial, self._reach)
        self._terms, self._microscope = None, self._whole
        if self.trial.terms:
            self._terms = Summands(self._reach)
            self._terms.install()
        if self.trial.microscope and self._whole is None:
            self._microscope = self._open.enter_context(self._lens())

    def _put_on(self, trial: Trial, reach: StepReach) -> None:
        cls = changes.of("one_step").get(trial.change)
        launched = cls is not None and cls.one_step is not None and cls.one_step.launch
        if cls is not None and not launched and trial.rank in {None, self.recorded.rank}:
            cls(reach, settings=trial.settings).put_on()

    def _lens(self, *, whole: bool = False) -> Microscope:
        session = self.attachment.session
        if not whole:
            return Microscope(session, lambda: self.recorded.size or None)
        # The script's own lines too: what is made before torch has it.
        self._outside = births = PythonBirths(lambda: session.batch)
        lens = Microscope(session, lambda: self.recorded.size or None, outside=births.origin)
        births.quiet = lens.aside
        return lens

    def _judge(self, optimizer: Any, update: Callable[[], Any]) -> Result:
        trial = self.trial
        assert trial is not None  # noqa: S101 - only called inside a trial
        names = names_in(self.attachment)
        low = any(p.dtype in LOW for p in held(optimizer))
        with unseen(self.attachment.session):
            result = Result(
                trial,
                losses=self._losses,
                gradients=digest(gradients(optimizer)),
                bad_gradients=broken_gradients(optimizer, names),
                samples=self.recorded.samples,
                low_precision=self._autocast or low or self._policies.low,
                low_policy=self._policies.low,
                low_weights=low,
                terms=self._found,
                warnings=list(self.restorer.warnings),
            )
            buffer = self.restorer.broken_buffer()
            if buffer is not None:
                result.bad_buffer, result.buffer = not finite(buffer), digest([buffer])
        if trial.apply:
            pieces = self.attachment.session.locally if trial.microscope else None
            changed = self._reach.updating if self._reach is not None else []
            result.bad_update = updated(optimizer, update, changed, names, pieces or nullcontext())
        if self._microscope is not None:
            # Without a backward pass (`autograd.grad`, `torch.func`) the gradients themselves are asked about.
            with nullcontext() if self._alone else unseen(self.attachment.session):
                # Of several ranks: what another has sent must not look as if it had begun with our looking at it.
                broken = [local(g) for g in gradients(optimizer) if not finite(g)]
            asked = [self._microscope.certificate(tensor) for tensor in [buffer, *broken]]
            result.certificate = next((certificate(found) for found in asked if found is not None), None)
        return result

    # -- what the script is given ---------------------------------------------------------

    def _wrap_next(self, original: Any) -> Any:
        def __next__(iterator: Any) -> Any:  # noqa: N807
            epoch = self.attachment.loaders.epochs.get(iterator)
            if epoch is None or epoch.key not in self.recorded.loaders:
                return original(iterator)
            own = None
            if self.trial is None:
                own = self.recorded.template = original(iterator)
                if self._run_in:
                    return own
                self._begin(None)
            elif self._whole is not None:
                own = original(iterator)
            with unseen(self.attachment.session):
                batch, chance = self.recorded.batch(epoch.key)
                self.attachment.session.batch = self.recorded.numbers
                self.restorer.random(chance)
                return own if self._whole is not None and self.recorded.equals(own, batch) else batch

        return __next__

    def _wrap_call(self, original: Any) -> Any:
        models = self.attachment.models

        def __call__(module: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            # A layer that is called while autograd runs is computed again (checkpointing), from what autograd has kept.
            inner = models.depth or self.attachment.session.in_backward
            if inner or self.over or next(module.parameters(), None) is None:
                return original(module, *args, **kwargs)
            if self.trial is None and not self._run_in and not self.recorded.loaders:
                self._begin(None)
            if self.trial is None:
                return original(module, *args, **kwargs)
            grad = torch.is_grad_enabled()
            with unseen(self.attachment.session):
                model = self._known(module)
                if self._first and not self.recorded.loaders and self.recorded.untouched:
                    self.restorer.random(self._start)
                index = self.restorer.index(model)
                args, kwargs = self.recorded.inputs(index, grad, args, kwargs)
            return original(module, *args, **kwargs)

        return __call__

    def _known(self, module: nn.Module) -> Model:
        """A module that is called for the first time in this trial is restored."""
        models, keys = self.attachment.models, self.attachment.session.modules
        if keys.of(module) not in models.known:
            models.registry.introduce(module)
        model = models.known[keys.of(module)]
        self.restorer.model(model)
        return model

    def _recorded_target(self, target: torch.Tensor) -> torch.Tensor:
        if self.trial is None:
            return target
        with unseen(self.attachment.session):
            return self.recorded.target(target)

    def _wrap_backward(self, original: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if self.trial is None and self._skipping:
                with unseen(self.attachment.session):
                    self.restorer.sharded_again()  # as after a backward pass
                    give_gradients(tensors)
                return None
            loss = tensors[0] if isinstance(tensors, (list, tuple)) else tensors
            if self.trial is not None and loss.numel() == 1:
                with unseen(self.attachment.session):
                    self._losses.append(exact(loss))
                if self._terms is not None:
                    held_whole = [p for p in self.restorer.parameters(self.target) if not is_shard(p)]
                    self._found += self._terms.of(loss, held_whole)
            return original(tensors, *args, **kwargs)

        return backward


def give_gradients(losses: Any) -> None:
    """What the script may use before its next step: it clips, scales or writes down gradients itself."""
    for loss in tensors_in(losses):
        for leaf in walk(loss).leaves:
            if leaf.grad is None and _has_memory(leaf):
                leaf.grad = torch.zeros_like(leaf)


def _has_memory(leaf: torch.Tensor) -> bool:
    """A piece that FSDP has put together for a while has none in between."""
    return leaf.untyped_storage().nbytes() > 0
