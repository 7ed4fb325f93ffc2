"""In its own process the user's script runs: `python -m premortem.proof.child ORDER.json`.

whole       up to its first save, a look at the state where training goes on, then some steps; over
resumed     up to its first training step: did it read what was saved? The same look, the same steps; over
"""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

from premortem.errors import UsageError
from premortem.events import Backward, Event
from premortem.plain import dumps
from premortem.points import UNDER, Subscriptions
from premortem.program import Program
from premortem.proof.order import RESUMED, WHOLE, Order
from premortem.proof.overlay import Overlay
from premortem.startup.arrivals import ImportHook


class Child:
    def __init__(self, order: Order) -> None:
        self.order = order
        self.overlay = Overlay(order.scratch)
        self.points = Subscriptions()
        self.attachment: Any = None
        self.saved_at: int | None = None  # the step of the first save
        self.loaded = False
        self.began: int | None = None  # the step from which on steps are compared
        self.position: int | None = None  # of the last batch, in its epoch
        self.loss: float | None = None
        self.passes: Any = None  # cut short, when that was asked for
        self._log = order.results.open("w", encoding="utf-8")  # before the overlay covers `open`

    def run(self) -> None:
        argv = self.order.argv
        module = argv[0] == "-m"
        program = Program(target=argv[1] if module else argv[0], module=module, argv=argv[1 + module :])
        try:
            program.check()
        except UsageError as error:
            self.tell(ended=str(error))
            return
        self.overlay.install()
        ImportHook("torch", self._arrived).wait()
        ImportHook("safetensors.torch", self._safetensors).wait()
        ImportHook("premortem.vault.vault", self._vault).wait()
        listen_to_parsers(lambda option: self.tell(options=option))
        ending = program.run()
        how = f"{ending.error}: {ending.message}" if ending.error else "it ended by itself"
        self.tell(ended=how[:500])

    # -- when torch is there --------------------------------------------------------------

    def _arrived(self) -> None:
        import torch

        from premortem.probes import Attachment

        self.overlay.cover_torch()
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
        """Whether the script wrote this file itself: those of the user are links that lead outside."""
        if not isinstance(path, (str, os.PathLike)) or not str(path):
            return False
        place = Path(os.fspath(self.overlay.reading(path)))
        return place.exists() and self.overlay.inside(place)

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
            self.leave()
        self._training_goes_on(None, [])
        if self.began is not None and self.attachment.session.step == self.began:
            scaler = self.attachment.scalers.last() if self.attachment.scalers.last is not None else None
            if scaler is not None and scaler.is_enabled():
                self.tell(scale=float(scaler.get_scale()))

    def _training_goes_on(self, root: Any, tensors: list[Any]) -> None:
        from premortem.probes.counting import user_frames
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
            self._keep_files()
        batch = {"index": self.position, "input": str(fingerprint(tensors)) if tensors else None}
        self.tell(moment=moment(self.attachment, root, batch))

    def _keep_files(self) -> None:
        for name in ("work", "written"):
            if (self.order.scratch / name).exists():
                shutil.copytree(self.order.scratch / name, self.order.snapshot / name, symlinks=True)

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
            self.leave()

    def leave(self) -> NoReturn:
        """Nothing of the script may run after this: no atexit handler that uploads, no thread that waits."""
        sys.stdout.flush()
        sys.stderr.flush()
        self._log.flush()
        os._exit(0)

    def tell(self, **words: Any) -> None:
        self._log.write(dumps(words) + "\n")
        self._log.flush()


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


def main() -> None:
    order = Order.read(Path(sys.argv[1]))
    sys.argv = [order.argv[0]]
    os.chdir(order.work)
    child = Child(order)
    try:
        child.run()
    except Exception as error:  # noqa: BLE001 - a bug of ours must be told, not lost in the script's output
        child.tell(ended=f"the proof itself failed ({type(error).__name__}: {error})")
        traceback.print_exc()
    finally:
        child.leave()


if __name__ == "__main__":
    main()
