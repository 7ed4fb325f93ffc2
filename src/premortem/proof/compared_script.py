"""In its own process the user's script runs.

whole       up to its first save, a look at the state where training goes on, then some steps; over
resumed     up to its first training step: did it read what was saved? The same look, the same steps; over
"""

import argparse
import functools
import os
import sys
import traceback
from typing import Any

from premortem.events import Backward, Event
from premortem.points import UNDER, Subscriptions
from premortem.proof.order import RESUMED, SNAPSHOT, WHOLE, Order
from premortem.scriptrun.sandbox.layers import kept, put_back
from premortem.scriptrun.script_process import Played
from premortem.startup.import_hook import ImportHook


class Child:
    def __init__(self, played: Played) -> None:
        self.played = played
        self.order = Order.from_json(played.order)
        self.tell = played.tell
        self.points = Subscriptions()
        self.snapshot = played.shared / SNAPSHOT
        self.attachment: Any = None
        self.saved_at: int | None = None  # the step of the first save
        self.loaded = False
        self.began: int | None = None  # the step from which on steps are compared
        self.position: int | None = None  # of the last batch, in its epoch
        self.loss: float | None = None
        self.passes: Any = None  # cut short, when that was asked for
        self._ours: set[str] = set()  # files that the script wrote before it was started again

    def run(self) -> None:
        if self.order.mode == RESUMED:
            put_back(self.snapshot)
            self._ours = set(kept(self.snapshot))
        ImportHook("torch", self._arrived).wait()
        ImportHook("safetensors.torch", self._safetensors).wait()
        ImportHook("premortem.vault.vault", self._vault).wait()
        listen_to_parsers(lambda option: self.tell(options=option))
        ending = self.played.program.run()
        how = f"{ending.error}: {ending.message}" if ending.error else "it ended by itself"
        self.tell(ended=how[:500])

    # -- when torch is there --------------------------------------------------------------

    def _arrived(self) -> None:
        import torch

        from premortem.probes import Attachment

        self.points.add(torch, "save", self._saving, order=UNDER)
        self.points.add(torch, "load", self._loading, order=UNDER)
        self.attachment = Attachment(self._happened, self._fault)
        self.attachment.models.on_call.append(self._called)
        self.attachment.loaders.on_batch.append(self._drawn)
        self.attachment.optimizers.before_step.append(self._stepping)
        self.attachment.optimizers.after_step.append(self._stepped)
        if self.order.cut is not None:
            from premortem.proof.passes import Passes

            self.passes = Passes(self.order.cut, lambda: self.began is None)
            self.passes.install()

    def _safetensors(self) -> None:
        import safetensors.torch as module

        for name in ("save_file", "save_model"):
            self.points.add(module, name, self._saving, order=UNDER)
        for name in ("load_file", "load_model", "safe_open"):
            if hasattr(module, name):
                self.points.add(module, name, self._loading, order=UNDER)

    def _vault(self) -> None:
        """A script may keep its checkpoints in a vault, which writes its files itself."""
        kind = sys.modules["premortem.vault.vault"].Vault
        save, resume = kind.save, kind.resume

        @functools.wraps(save)
        def saving(vault: Any, *args: Any, **given: Any) -> Any:
            result = save(vault, *args, **given)
            if result.wait() is not None and self.attachment is not None and self.attachment.session.step:
                self.saved_at = self.attachment.session.step
                names = [name for name, each in given.items() if each is not None]
                self.tell(saved={"path": str(vault.folder), "step": self.saved_at, "entries": names})
            return result

        @functools.wraps(resume)
        def resuming(vault: Any, **given: Any) -> Any:
            report = resume(vault, **given)
            if report.loaded and self._is_ours(report.path):
                self.loaded = True
                self.tell(loaded=str(report.path))
            return report

        kind.save, kind.resume = saving, resuming

    def _saving(self, original: Any) -> Any:
        def save(thing: Any, f: Any = None, *args: Any, **kwargs: Any) -> Any:
            result = original(thing, f, *args, **kwargs)
            self._noted_save(thing, f)
            return result

        return save

    def _noted_save(self, thing: Any, target: Any) -> None:
        from premortem.proof.state import tensors_in_file

        step = self.attachment.session.step if self.attachment is not None else 0
        if step and tensors_in_file(thing):
            path = (
                os.fspath(target) if isinstance(target, (str, os.PathLike)) else getattr(target, "name", "")
            )
            entries = [str(key) for key in thing][:32] if isinstance(thing, dict) else []
            self.saved_at = step
            self.tell(saved={"path": str(path), "step": step, "entries": entries})

    def _loading(self, original: Any) -> Any:
        def load(*args: Any, **kwargs: Any) -> Any:
            source = next((a for a in args if isinstance(a, (str, os.PathLike))), kwargs.get("f"))
            source = source if source is not None or not args else getattr(args[0], "name", "")
            if self._is_ours(source):
                self.loaded = True
                self.tell(loaded=str(source))
            return original(*args, **kwargs)

        return load

    def _is_ours(self, path: Any) -> bool:
        """Whether the script wrote this file itself, or the folder that it lies in."""
        if not isinstance(path, (str, os.PathLike)) or not str(path):
            return False
        whole = os.path.realpath(path)
        ours = whole in self._ours or any(file.startswith(whole + os.sep) for file in self._ours)
        return os.path.exists(whole) and (ours or self.played.sandbox.wrote(whole))  # noqa: PTH110

    # -- what happens ---------------------------------------------------------------------

    def _happened(self, event: Event) -> None:
        if isinstance(event, Backward):
            self.loss = event.value
            if self.passes is not None:
                self.passes.backward()

    def _fault(self, unit: str, error: BaseException) -> None:
        """A bug of ours, which the script does not notice; the proof must."""
        traceback.print_exception(error)
        self.tell(faults=f"{unit}: {type(error).__name__}: {error}")

    def _drawn(self, loader: int, batch: Any, tensors: list[Any]) -> None:
        epoch = self.attachment.loaders.last.get(loader)
        self.position = epoch.batches - 1 if epoch is not None else None

    def _called(self, model: Any, grad: bool, tensors: list[Any]) -> None:
        root = model.module()
        if self.passes is not None:
            self.passes.called(grad=grad)
        if grad and root is not None and root.training and (self.loaded or self.order.mode == WHOLE):
            self._training_goes_on(root, tensors)

    def _stepping(self, optimizer: Any, track: Any) -> None:
        """What is trained without a module, or in eval mode, is looked at here."""
        if self.order.mode == RESUMED and not self.loaded:
            self.tell(ended="not resumed")
            self.played.leave()
        self._training_goes_on(None, [])
        if self.began is not None and self.attachment.session.step == self.began:
            scaler = self.attachment.scalers.last() if self.attachment.scalers.last is not None else None
            if scaler is not None and scaler.is_enabled():
                self.tell(scale=float(scaler.get_scale()))

    def _training_goes_on(self, root: Any, tensors: list[Any]) -> None:
        from premortem.probes.loop_counters import user_frames
        from premortem.probes.session import fingerprint
        from premortem.proof.state import moment, random_states, variables

        if self.began is not None:
            return
        if self.order.mode == WHOLE and self.saved_at is None:
            if not self.attachment.session.step:
                self.tell(first={"variables": variables(list(user_frames())), "random": random_states()})
            return
        self.began = self.attachment.session.step
        if self.order.mode == WHOLE:
            self.played.sandbox.keep(self.snapshot)
        batch = {"index": self.position, "input": str(fingerprint(tensors)) if tensors else None}
        self.tell(moment=moment(self.attachment, root, batch))

    def _stepped(self, optimizer: Any, track: Any, step: int) -> None:
        from premortem.proof.state import checksum, loss_bits

        if self.passes is not None:
            self.passes.stepped()
        if self.began is None:
            return
        weights = [checksum(p) for group in optimizer.param_groups for p in group["params"]]
        self.tell(stepped={"step": step - self.began, "weights": weights, "loss": loss_bits(self.loss)})
        if step - self.began >= self.order.steps:
            self.tell(ended="done")
            self.played.leave()


def listen_to_parsers(tell: Any) -> None:
    """Which options the script has, from its own argument parser."""
    original = argparse.ArgumentParser.parse_known_args

    def parse_known_args(parser: Any, *args: Any, **kwargs: Any) -> Any:
        for action in parser._actions:  # noqa: SLF001 - there is no public list of them
            if action.option_strings:
                takes = action.nargs != 0
                whole = getattr(action.type, "__name__", "") in {"int", "float"}
                tell({"name": action.option_strings[-1], "takes": takes, "number": whole})
        return original(parser, *args, **kwargs)

    argparse.ArgumentParser.parse_known_args = parse_known_args  # type: ignore[method-assign,assignment]


def play(played: Played) -> None:
    Child(played).run()
