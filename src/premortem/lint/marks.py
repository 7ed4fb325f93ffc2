"""More facts that one file contributes, as marks: short texts that are joined over the whole project."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from premortem.lint.datasets import indexed
from premortem.lint.imports import imported, place
from premortem.lint.outputs import Outputs, may_end_squashed
from premortem.lint.patterns import pattern
from premortem.lint.trained_on import trained_on
from premortem.lint.training import is_epochs
from premortem.lint.tree import argument, constant

if TYPE_CHECKING:
    from premortem.lint.source import Source

FP16 = "fp16"
# `output:/repo/nets.py>Net>softmax`: how the output of a class ends, `>Net[0]>softmax`: how an item of it does.
OUTPUT = "output:"
IMPORT = "import>"
LOADS = "loads:"
# Some file of the project works with models that learn.
LEARNS = "learns"
_LEARNING = ("torch", "lightning", "pytorch_lightning", "transformers", "accelerate")
# What decides whether a sampler hears of the epoch: a loop over epochs, a backward pass, `set_epoch`, a framework that calls it.
SET_EPOCH = "set_epoch"
EPOCHS = "epochs"

_FP16_SETTINGS = {
    "fp16": (True,),
    "mixed_precision": ("fp16",),
    "precision": (16, "16", "16-mixed", "16-true"),
    "opt_level": ("O1", "O2", "O3"),  # apex
}
# Each begins with a plain word: that is what makes looking for it quick.
_SETTINGS = tuple(
    pattern(word + rb"\s*=\s*(?:True|16|[\"'](?:fp16|16|O[123]))")
    for word in (rb"fp16", rb"precision", rb"opt_level")
)
# Packages that turn text into numbers by themselves ...
_CONVERTERS = {
    "yacs": "yaml:yacs",
    "fvcore": "yaml:yacs",
    "jsonargparse": "yaml:jsonargparse",
    "mmengine": "yaml:mmengine",
    "mmcv": "yaml:mmengine",
}
# ... and those that do so where they are given what YAML has read.
_TYPED = ("pydantic", "dacite", "confuse")


# Frameworks that call `set_epoch` themselves.
SETS_EPOCH = ("accelerate", "lightning", "pytorch_lightning", "composer", "ignite", "deepspeed", "ray")


def more_marks(source: Source) -> Iterator[str]:
    """What this file says about precision, how settings are read, and what its models return."""
    data = source.data
    if any(one.search(data) for one in _SETTINGS) and any(map(_asks_fp16, source.nodes(ast.Call))):
        yield FP16
    if b"device_type" in data and any(_autocasts(source, call) for call in source.calls_to("autocast")):
        yield FP16
    yield from (mark for package, mark in _CONVERTERS.items() if source.names.imports(package))
    if source.names.imports("yaml") and any(source.names.imports(package) for package in _TYPED):
        yield "yaml:typed"
    if b"LightningCLI" in data:
        yield "yaml:jsonargparse"
    if any(map(source.names.imports, _LEARNING)):
        yield LEARNS
    if b"set_epoch" in data:
        yield SET_EPOCH
    if b".backward(" in data or b".backward)" in data:
        yield "backward"
        yield from trained_on(source)
    if (b"epoch" in data or b"Epoch" in data) and any(is_epochs(source, loop) for loop in source.loops):
        yield EPOCHS
    if b"add_implicit_resolver" in data:
        yield "yaml:resolver"
    yield from indexed(source)
    yield from loaded(source)
    if b"oftmax" in data or b"igmoid" in data:
        outputs = Outputs(source)
        for owner in source.classes:
            if owner.name in source.module_classes and may_end_squashed(source, owner):
                for name, kind in outputs.endings(owner):
                    yield f"{OUTPUT}{place(source.path)}>{name}>{kind}"


def loaded(source: Source) -> Iterator[str]:
    """`loads:/repo/train.py>best_state` of `model.load_state_dict(stopper.best_state)`: a part of another object."""
    for call in source.calls.get("load_state_dict", ()):
        given = argument(call, "state_dict", 0)
        if (
            isinstance(given, ast.Attribute)
            and isinstance(given.value, ast.Name)
            and given.value.id != "self"
        ):
            yield f"{LOADS}{place(source.path)}>{given.attr}"


def imports(source: Source) -> Iterator[str]:
    """`import>/repo/train.py>/repo>models.net` for each name that a file takes from the project, or may."""
    here = place(source.path)
    for folder, name in imported(source):
        if name.partition(".")[0] not in sys.stdlib_module_names:
            yield f"{IMPORT}{here}>{folder}>{name}"


def _asks_fp16(call: ast.Call) -> bool:
    return any(constant(one.value) in _FP16_SETTINGS.get(one.arg or "", ()) for one in call.keywords)


def _autocasts(source: Source, call: ast.Call) -> bool:
    """`torch.autocast(device_type="cuda")` without a dtype means float16."""
    names = {"torch.autocast", "torch.amp.autocast"}
    return (
        source.names.any_in(call.func, names)
        and constant(argument(call, "device_type", 0)) == "cuda"
        and argument(call, "dtype", 1) is None
    )
