"""What this machine has not got, for scripts that name it in `stands_in` of the list. Imported by the first line of a script.

`cuda`: `.cuda()` leaves a tensor where it is. `torchvision`: its compiled part is left out where it does not load, and files
that we made may have other checksums. `gym`: gymnasium under its old name. Any other name: a module that takes every call and
does nothing, for drawing and for sending numbers away.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import ClassVar
from unittest.mock import MagicMock

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook


def cuda() -> None:
    def as_it_is(self: object, *_args: object, **_options: object) -> object:
        return self

    torch.Tensor.cuda = as_it_is  # type: ignore[assignment,method-assign]
    torch.nn.Module.cuda = as_it_is  # type: ignore[assignment,method-assign]
    for name in ("Float", "Long", "Byte"):
        setattr(torch.cuda, f"{name}Tensor", getattr(torch, f"{name}Tensor"))
    torch.cuda.set_device = torch.cuda.manual_seed = torch.cuda.empty_cache = lambda *_args: None  # type: ignore[assignment]


def torchvision() -> None:
    try:
        import torchvision as real  # noqa: F401
    except RuntimeError:  # "operator torchvision::nms does not exist": no compiled part for this torch
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _KEPT.append(library)
    from torchvision.datasets import cifar, mnist, omniglot, utils

    def there(path: str, *_checksum: object) -> bool:
        return Path(path).exists()

    for part in (cifar, mnist, omniglot, utils):
        if hasattr(part, "check_integrity"):
            part.check_integrity = there


def gym() -> None:
    """A script that does not seed its world gets the same one every time."""
    gymnasium = sys.modules["gym"] = importlib.import_module("gymnasium")
    make = gymnasium.make

    def seeded(*args: object, **options: object) -> object:
        world = make(*args, **options)
        world.reset(seed=0)
        return world

    gymnasium.make = seeded


def traced(file: Path) -> None:
    """At the end of the process, a hash of all weights that were trained. A hook of torch's own: for bare runs alone."""
    met: dict[int, torch.optim.Optimizer] = {}
    process = os.getpid()
    register_optimizer_step_post_hook(
        lambda optimizer, _args, _options: met.setdefault(id(optimizer), optimizer)
    )  # type: ignore[arg-type,return-value]

    def ended() -> None:
        if os.getpid() == process:
            digest = hashlib.sha256()
            for optimizer in met.values():
                for parameter in (p for group in optimizer.param_groups for p in group["params"]):
                    digest.update(parameter.detach().float().contiguous().numpy().tobytes())
            file.write_text(digest.hexdigest()[:12])

    atexit.register(ended)


_KEPT: list[object] = []


class Nothing(ModuleType):
    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        made = MagicMock(name=f"{self.__name__}.{name}")
        if name == "subplots":
            made.return_value = (MagicMock(), MagicMock())  # of pyplot: a figure and its axes
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.split(".", maxsplit=1)[0] in self.names:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return Nothing(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def put_on(names: list[str]) -> None:
    ours = {"cuda": cuda, "torchvision": torchvision, "gym": gym}
    for name in names:
        if name in ours:
            ours[name]()
    sys.meta_path.insert(0, Finder(set(names) - set(ours)))


put_on(os.environ.get("WILD_STANDS_IN", "").split())
if os.environ.get("WILD_TRACE"):
    traced(Path(os.environ["WILD_TRACE"]))
