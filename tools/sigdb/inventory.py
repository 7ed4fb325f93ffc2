"""The names of a release that people call, each with what it accepts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from sigdb.calls import ANYTHING, INCIDENTAL, MODULE, Call, Reader
from sigdb.namespaces import Binding, Wheel
from sigdb.natives import Natives


@dataclass(frozen=True, slots=True)
class Distribution:
    """What is read of a package on the index."""

    name: str
    oldest: tuple[int, ...]
    # Modules by pattern, public path by public path; the rest of the package is not read.
    modules: str
    # Classes whose methods are listed as well: their instances are what code calls most.
    with_methods: tuple[str, ...] = ()
    # Modules whose names the package hands out at its top, by a lazy import that cannot be followed.
    lifted: tuple[str, ...] = ()


DISTRIBUTIONS = (
    Distribution(
        "torch",
        (2, 0),
        r"torch(\.(?!testing|ao\b|quantization|contrib|package|fx|onnx\.|export\.|utils\.(benchmark|bottleneck"
        r"|hipify|jit|model_dump|bundled_inputs|viz|serialization|tensorboard\.|data\.datapipes)"
        r"|distributed\.(elastic|benchmarks|launcher|pipeline\.|rpc\.|nn\.|flight_recorder|tensor\.(debug|examples))"
        r"|nn\.(intrinsic|quantiz|qat|backends)|masked\.|jit\.|nativert|numa).*)?",
        with_methods=("torch.Tensor",),
    ),
    Distribution(
        "torchvision",
        (0, 15),
        r"torchvision(\.(?!prototype|datasets\.samplers|transforms\.v2\.functional|models\.(?!\w+$)).*)?",
    ),
    Distribution("torchaudio", (2, 0), r"torchaudio(\.(?!prototype|models\.\w+\.|kaldi_io|backend).*)?"),
    Distribution(
        "lightning",
        (1, 9),
        r"lightning(\.(pytorch|fabric)(\.(callbacks|loggers|strategies|profilers|plugins|tuner|utilities\.seed))?)?",
    ),
    Distribution(
        "accelerate", (0, 20), r"accelerate(\.(utils|data_loader|logging|tracking|optimizer|scheduler))?"
    ),
    Distribution(
        "transformers",
        (4, 36),
        r"transformers\.(trainer|training_args|trainer_seq2seq|training_args_seq2seq|optimization|trainer_callback)",
        lifted=(
            "transformers.trainer",
            "transformers.training_args",
            "transformers.trainer_seq2seq",
            "transformers.training_args_seq2seq",
            "transformers.optimization",
            "transformers.trainer_callback",
        ),
    ),
)


def inventory(wheel: Wheel, distribution: Distribution) -> dict[str, Call]:
    """Dotted public name → what it accepts, for everything the distribution's patterns cover."""
    reader = Reader(wheel, Natives.of(wheel))
    wanted = re.compile(distribution.modules)
    found: dict[str, Call] = {}
    for module in sorted(wheel.modules):
        if not wanted.fullmatch(module) or any(part.startswith("_") for part in module.split(".")):
            continue
        # Unless the package has a function of the same name, which hides it: `torch.nn.utils.weight_norm`.
        found.setdefault(module, Call((MODULE,)))
        for name, call in _members(wheel, reader, module, distribution.name):
            found[f"{module}.{name}"] = call
    for dotted in distribution.with_methods:
        for name, call in _methods(wheel, reader, dotted):
            found[f"{dotted}.{name}"] = call
    top = wheel.read(f"{distribution.name}/__init__.py") or ""
    for module in distribution.lifted:
        for name in wheel.public(module):
            call = found.get(f"{module}.{name}", INCIDENTAL)
            # The package lists its lazy names as strings, or takes them from the module's own `__all__`.
            if not call.incidental and (f'"{name}"' in top or name in wheel.listed(module)):
                found[f"{distribution.name}.{name}"] = call
    return found


def _members(wheel: Wheel, reader: Reader, module: str, package: str) -> Iterator[tuple[str, Call]]:
    space = wheel.namespace(module)
    listed = wheel.listed(module)
    names = set(space.names).union(*(wheel.public(star) for star in space.stars))
    for name in sorted(names | listed):
        if name.startswith("_") or name == package or len(name) == 1 or name.endswith("_co"):
            continue  # private, the package itself, type variables
        bindings = wheel.resolve(f"{module}.{name}")
        inside = tuple(b for b in bindings if b.module.partition(".")[0] == package)
        bound = space.names.get(name, ())
        if any(b.is_module for b in inside):
            continue  # listed under its own path
        if name not in listed and not wheel.is_package(module) and all(b.alias for b in bound):
            yield name, INCIDENTAL
        elif inside and (wheel.is_package(module) or any(_is_definition(b) for b in inside)):
            yield name, reader.call(inside)
        elif name in listed or any(b.alias.startswith(f"{package}.") for b in bound):
            yield name, ANYTHING  # it is there, from a place that is not in Python


def _is_definition(binding: Binding) -> bool:
    """A function or a class; constants are listed for packages only: dtypes, flags."""
    return isinstance(binding.node, (ast.FunctionDef, ast.ClassDef, ast.Call))


def _methods(wheel: Wheel, reader: Reader, dotted: str) -> Iterator[tuple[str, Call]]:
    """Methods of a class and of its bases; what the class itself defines hides what a base does."""
    seen: set[str] = set()
    for binding in _lineage(wheel, dotted):
        if not isinstance(binding.node, ast.ClassDef):
            continue
        calls: dict[str, Call] = {}
        for item in binding.node.body:
            match item:
                case ast.FunctionDef(name=name) if not name.startswith("_"):
                    if any(ast.unparse(d) in {"property", f"{name}.setter"} for d in item.decorator_list):
                        calls[name] = ANYTHING
                    else:
                        calls[name] = calls.get(name, Call()) | reader.method(item, binding.module)
                case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                    if not name.startswith("_"):
                        calls[name] = ANYTHING
        yield from ((name, call) for name, call in calls.items() if name not in seen)
        seen |= set(calls)


def _lineage(wheel: Wheel, dotted: str) -> Iterator[Binding]:
    for binding in wheel.resolve(dotted):
        yield binding
        if isinstance(binding.node, ast.ClassDef):
            for base in binding.node.bases:
                yield from _lineage(wheel, f"{binding.module}.{ast.unparse(base)}")
