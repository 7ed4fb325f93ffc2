"""What one file contributes to the facts about its project, summed up right after it is parsed."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from premortem.lint.imports import place
from premortem.lint.keys import keys
from premortem.lint.marks import imports, more_marks
from premortem.lint.meters import keeping
from premortem.lint.patterns import pattern
from premortem.lint.tree import argument, constant, last_name

if TYPE_CHECKING:
    from premortem.lint.source import Source
    from premortem.lint.tree import Function

PLACED = " @ "  # between a name and the file it is used in
# What functions are asked about: `project.does("optimize", "zero_grad")`.
VERBS = frozenset(
    "backward step zero_grad unscale_ update scale clip_grad_norm_ clip_grad_value_ no_grad inference_mode "
    "set_grad_enabled set_epoch eval train load_state_dict manual_seed state_dict parameters detach item".split()
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
_YAML_CALLS = tuple({name.rpartition(".")[2] for name in YAML})
# A file with none of these says nothing about training, but it can read settings.
RELEVANT = tuple(
    b"torch lightning transformers accelerate yaml omegaconf hydra no_grad eval .backward( .step(".split()
)
# Only in files with one of these is it worth writing down who calls whom.
TRAINS = (b".backward(", b".step(", b"zero_grad", b"no_grad", b".eval(")


# Layers that do one thing in training and another in evaluation.
_MODAL = (b"Dropout", b"BatchNorm", b"InstanceNorm", b"DropPath")
MODAL = pattern("|".join(word.decode() for word in _MODAL))


@dataclass(slots=True)
class Summary:
    """Plain values only: it travels between processes and into the cache."""

    marks: set[str] = field(default_factory=set)  # "fp16", "compile", "yaml:pyyaml", ...
    # Names of functions with the file that says so, as `evaluate @ /repo/train.py`.
    without_grad: set[str] = field(default_factory=set)  # called under no_grad
    in_eval: set[str] = field(default_factory=set)  # called from a function that calls .eval()
    calls: dict[str, set[str]] = field(default_factory=dict)  # last names of what a function calls


def summarise(source: Source) -> Summary:
    """Sum up one file; costs a fraction of parsing it."""
    summary = Summary(marks={*keys(source), *keeping(source)})
    if any(word in source.data for word in RELEVANT):
        _mark(source, summary)
        if any(word in source.data for word in TRAINS):
            _sum_up_calls(source, summary)
    return summary


def _mark(source: Source, summary: Summary) -> None:
    names = source.names
    marks = summary.marks
    if _uses_fp16(source):
        marks.add("fp16")
    if b"compile" in source.data and (
        any(names.any_in(call.func, {"torch.compile"}) for call in source.calls_to("compile"))
        or any(
            names.any_in(_called(decorator), {"torch.compile"})
            for function in source.functions
            for decorator in function.decorator_list
        )
    ):
        marks.add("compile")
    for call in source.calls_to(*_YAML_CALLS):
        marks.update(f"yaml:{YAML[name]}" for name in names.of(call.func) if name in YAML)
    if names.imports("hydra"):
        marks.add("yaml:hydra")
    marks.update(more_marks(source))
    if has_modes(source):
        marks.add("modes")
    marks.update(f"{what}>{place(source.path)}" for what in marks & {"fp16", "compile", "modes"})
    marks.update(imports(source))


def has_modes(source: Source) -> bool:
    """Whether the file makes a layer that does something else in training; not a dropout of 0."""
    return any(word in source.data for word in _MODAL) and any(
        not _drops_nothing(source, call)
        for name in source.calls
        if MODAL.search(name)
        for call in source.calls[name]
    )


def _drops_nothing(source: Source, call: ast.Call) -> bool:
    """`Dropout(0.0)`, `Dropout(p)` where `p` is 0 unless the caller says otherwise."""
    if "Norm" in last_name(call):
        return False
    share = argument(call, "p", 0)
    function = source.function(call)
    if isinstance(share, ast.Name) and function is not None:
        given = function.args
        plain = [*given.posonlyargs, *given.args]
        defaults = zip(reversed(plain), reversed(given.defaults), strict=False)
        more = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        share = next((value for one, value in (*defaults, *more) if one.arg == share.id), None)
        return constant(share) == 0
    return share is not None and constant(share) == 0


def _uses_fp16(source: Source) -> bool:
    names = source.names
    for call in source.calls_to("autocast", "GradScaler"):
        found = names.of(call.func)
        if not any(name.startswith(("torch.amp.", "torch.cuda.amp.", "torch.autocast")) for name in found):
            continue
        dtype = [keyword.value for keyword in call.keywords if keyword.arg == "dtype"]
        cuda_default = not dtype and (
            any(name.startswith("torch.cuda.amp.") for name in found)
            or any(isinstance(arg, ast.Constant) and arg.value == "cuda" for arg in call.args)
        )
        if cuda_default or any(names.any_in(value, {"torch.float16", "torch.half"}) for value in dtype):
            return True
    return any(
        isinstance(call.func, ast.Attribute) and not call.args for call in source.calls.get("half", ())
    )


def _sum_up_calls(source: Source, summary: Summary) -> None:
    here = PLACED + place(source.path)
    for function, names in _calls_by_function(source):
        summary.calls.setdefault(function.name + here, set()).update(names)
        if any(
            last_name(decorator) in {"no_grad", "inference_mode"} for decorator in function.decorator_list
        ):
            summary.without_grad |= names
        if "eval" in names:
            summary.in_eval |= names
    for block in source.withs:
        if any(source.names.any_in(_called(item.context_expr), WITHOUT_GRAD) for item in block.items):
            for statement in block.body:
                summary.without_grad |= {
                    last_name(node) for node in source.within(statement) if isinstance(node, ast.Call)
                }
    top = {last_name(call) for call in source.nodes(ast.Call)} if "eval" in source.calls else set()
    # A script without functions evaluates at its top level.
    if top and not source.functions:
        summary.in_eval |= top
    summary.without_grad = {name + here for name in summary.without_grad - VERBS - {""}}
    summary.in_eval = {name + here for name in summary.in_eval - VERBS - {""}}


def _called(expr: ast.expr) -> ast.expr:
    return expr.func if isinstance(expr, ast.Call) else expr


def _calls_by_function(source: Source) -> list[tuple[Function, set[str]]]:
    """For each function the last names of what it calls, nested functions included."""
    found: list[tuple[Function, set[str]]] = []
    around: list[tuple[int, set[str]]] = []
    functions = list(reversed(source.functions))
    for call in sorted(source.nodes(ast.Call), key=lambda call: call.lineno):
        while functions and functions[-1].lineno <= call.lineno:
            function = functions.pop()
            names: set[str] = set()
            found.append((function, names))
            around.append((function.end_lineno or function.lineno, names))
        around = [(end, names) for end, names in around if end >= call.lineno]
        if last := last_name(call):
            for _end, names in around:
                names.add(last)
    return found


def join(summaries: Iterable[Summary]) -> Summary:
    """One summary of them all."""
    whole = Summary()
    for one in summaries:
        for part in fields(Summary):
            mine, theirs = getattr(whole, part.name), getattr(one, part.name)
            if isinstance(mine, set):
                mine |= theirs
            else:
                for name, names in theirs.items():
                    mine.setdefault(name, set()).update(names)
    return whole


def as_json(summary: Summary) -> dict[str, Any]:
    """Without what is empty: most files say little."""
    found: dict[str, Any] = {}
    for part in fields(Summary):
        value = getattr(summary, part.name)
        if isinstance(value, set) and value:
            found[part.name] = sorted(value)
        elif value:
            found[part.name] = {name: sorted(names) for name, names in sorted(value.items())}
    return found


def from_json(record: dict[str, Any]) -> Summary:
    parts: dict[str, Any] = {
        name: set(value) if isinstance(value, list) else {key: set(names) for key, names in value.items()}
        for name, value in record.items()
    }
    return Summary(**parts)
