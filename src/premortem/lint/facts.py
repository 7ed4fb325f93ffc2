"""What the whole project says: small summaries of files, and the facts that follow from all of them.

A file is summed up once, right after it is parsed (`summarise`); the facts are joined from the summaries when all
files have been seen. A rule that asks a question about the project before that is put off (`NotYet`) and runs again
on that file in a second pass: so only files with a suspicion are read twice.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.lint.source import last_name

if TYPE_CHECKING:
    from premortem.lint.source import Function, Source
    from premortem.lint.target import Target

# What functions are asked about: `project.does("optimize", "zero_grad")`.
VERBS = frozenset(
    "backward step zero_grad unscale_ update scale clip_grad_norm_ clip_grad_value_ no_grad inference_mode "
    "set_grad_enabled eval train load_state_dict manual_seed state_dict parameters detach item".split()
)
WITHOUT_GRAD = frozenset(("torch.no_grad", "torch.inference_mode", "torch.set_grad_enabled"))
YAML = {
    "yaml.load": "pyyaml",
    "yaml.safe_load": "pyyaml",
    "yaml.full_load": "pyyaml",
    "yaml.unsafe_load": "pyyaml",
    "yaml.load_all": "pyyaml",
    "yaml.safe_load_all": "pyyaml",
    "omegaconf.OmegaConf.load": "omegaconf",
    "hydra.main": "hydra",
    "hydra.compose": "hydra",
    "ruamel.yaml.YAML": "ruamel",
}


class NotYet(Exception):  # noqa: N818 - a signal to the engine, not an error
    """The facts are not known yet: the rule is run again when they are."""


@dataclass(slots=True)
class Summary:
    """What one file contributes. Plain values only: it travels between processes and into the cache."""

    packages: set[str] = field(default_factory=set)  # first parts of the names it imports
    marks: set[str] = field(default_factory=set)  # "fp16", "saves-module", "ddp", "yaml:pyyaml", ...
    verbs: dict[str, set[str]] = field(default_factory=dict)  # function -> what it and its callees here call
    without_grad: set[str] = field(default_factory=set)  # functions called under no_grad
    in_eval: set[str] = field(default_factory=set)  # functions called from a function that calls .eval()


def summarise(source: Source) -> Summary:
    """Sum up one file; costs a fraction of parsing it."""
    summary = Summary(packages={name.partition(".")[0] for name in source.names.modules})
    _mark(source, summary)
    _sum_up_functions(source, summary)
    return summary


def _mark(source: Source, summary: Summary) -> None:
    names = source.names
    marks = summary.marks
    data = source.data
    if _uses_fp16(source):
        marks.add("fp16")
    for call in source.calls_to("save"):
        if names.any_in(call.func, {"torch.save"}) and call.args:
            if isinstance(call.args[0], ast.Name) and source.kinds.surely(call.args[0].id, "module"):
                marks.add("saves-module")
    if b"DistributedDataParallel" in data or b"init_process_group" in data:
        marks.add("ddp")
    for last in (
        "load",
        "safe_load",
        "full_load",
        "unsafe_load",
        "load_all",
        "safe_load_all",
        "compose",
        "YAML",
    ):
        for call in source.calls.get(last, ()):
            marks.update(f"yaml:{YAML[name]}" for name in names.of(call.func) if name in YAML)
    if names.imports("hydra"):
        marks.add("yaml:hydra")


def _uses_fp16(source: Source) -> bool:
    names = source.names
    for call in source.calls_to("autocast", "GradScaler"):
        found = names.of(call.func)
        if not any(name.startswith(("torch.amp.", "torch.cuda.amp.", "torch.autocast")) for name in found):
            continue
        dtype = [keyword.value for keyword in call.keywords if keyword.arg == "dtype"]
        wanted = {"torch.float16", "torch.half"}
        cuda_default = not dtype and (
            any(name.startswith("torch.cuda.amp.") for name in found)
            or any(isinstance(arg, ast.Constant) and arg.value == "cuda" for arg in call.args)
        )
        if cuda_default or any(names.any_in(value, wanted) for value in dtype):
            return True
    return any(
        isinstance(call.func, ast.Attribute) and not call.args for call in source.calls.get("half", ())
    )


def _sum_up_functions(source: Source, summary: Summary) -> None:
    if not any(verb.encode() in source.data for verb in ("backward", "step", "zero_grad", "no_grad", "eval")):
        return
    called: dict[str, set[str]] = {}
    for function, names in _calls_by_function(source):
        called.setdefault(function.name, set()).update(names)
        if any(
            last_name(decorator) in {"no_grad", "inference_mode"} for decorator in function.decorator_list
        ):
            summary.without_grad |= names
        if "eval" in names:
            summary.in_eval |= names
    for block in source.withs:
        if any(source.names.any_in(_called(item.context_expr), WITHOUT_GRAD) for item in block.items):
            for statement in block.body:
                for node in source.within(statement):
                    if isinstance(node, ast.Call):
                        summary.without_grad.add(last_name(node))
    summary.without_grad -= VERBS
    summary.in_eval -= VERBS
    for name in called:
        if verbs := _closure(name, called) & VERBS:
            summary.verbs[name] = verbs


def _called(expr: ast.expr) -> ast.expr:
    return expr.func if isinstance(expr, ast.Call) else expr


def _calls_by_function(source: Source) -> list[tuple[Function, set[str]]]:
    """For each function the last names of what it calls, nested functions included."""
    found: list[tuple[Function, set[str]]] = []
    open_functions: list[tuple[int, set[str]]] = []
    functions = list(reversed(source.functions))
    for call in sorted(source.nodes(ast.Call), key=lambda call: call.lineno):
        while functions and functions[-1].lineno <= call.lineno:
            function = functions.pop()
            names: set[str] = set()
            found.append((function, names))
            open_functions.append((function.end_lineno or function.lineno, names))
        open_functions = [(end, names) for end, names in open_functions if end >= call.lineno]
        last = last_name(call)
        for _end, names in open_functions:
            names.add(last)
    return found


def _closure(name: str, called: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = [name]
    seen: set[str] = set()
    while pending:
        here = pending.pop()
        if here in seen:
            continue
        seen.add(here)
        found |= called.get(here, set())
        pending += [other for other in called.get(here, ()) if other in called]
    return found


class Facts:
    """The facts about a project. `root` and `target` are known at once, the rest after the first pass."""

    def __init__(
        self, root: Path, target: Target | None = None, summaries: Iterable[Summary] | None = None
    ) -> None:
        self.root = root
        self.target = target
        self._summaries = None if summaries is None else list(summaries)

    @cached_property
    def _joined(self) -> Summary:
        if self._summaries is None:
            raise NotYet
        whole = Summary()
        verbs: defaultdict[str, set[str]] = defaultdict(set)
        for one in self._summaries:
            whole.packages |= one.packages
            whole.marks |= one.marks
            whole.without_grad |= one.without_grad
            whole.in_eval |= one.in_eval
            for name, said in one.verbs.items():
                verbs[name] |= said
        whole.verbs = dict(verbs)
        return whole

    @property
    def fp16(self) -> bool:
        """Some file uses fp16: `.half()`, autocast to float16 (CUDA's default), a GradScaler."""
        return "fp16" in self._joined.marks

    @property
    def distributed(self) -> bool:
        """Some file uses DistributedDataParallel or a process group."""
        return "ddp" in self._joined.marks

    @property
    def saves_whole_modules(self) -> bool:
        """Some file calls `torch.save(model, ...)` on what surely is a module."""
        return "saves-module" in self._joined.marks

    @property
    def yaml_loaders(self) -> frozenset[str]:
        """How the project reads YAML: of "pyyaml", "omegaconf", "hydra", "ruamel"."""
        return frozenset(mark[5:] for mark in self._joined.marks if mark.startswith("yaml:"))

    def uses(self, package: str) -> bool:
        """Whether some file imports this top-level package."""
        return package in self._joined.packages

    def called_without_grad(self, function: str) -> bool:
        """Whether a function of this name is called under `no_grad`/`inference_mode` somewhere."""
        return function in self._joined.without_grad

    def called_in_eval(self, function: str) -> bool:
        """Whether a function of this name is called from a function that also calls `.eval()`."""
        return function in self._joined.in_eval

    def does(self, function: str, verb: str) -> bool:
        """Whether a function of this name in the project calls `verb`, itself or through its own file's functions.

        `verb` must be one of `VERBS`.
        """
        if verb not in VERBS:
            raise ValueError(f"add {verb!r} to facts.VERBS")
        return verb in self._joined.verbs.get(function, ())


def as_json(summary: Summary) -> dict[str, Any]:
    return {
        "packages": sorted(summary.packages),
        "marks": sorted(summary.marks),
        "verbs": {name: sorted(said) for name, said in sorted(summary.verbs.items())},
        "without_grad": sorted(summary.without_grad),
        "in_eval": sorted(summary.in_eval),
    }
