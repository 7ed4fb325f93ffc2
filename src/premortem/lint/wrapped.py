"""Models in a wrapper for several devices, and what can no longer be called on them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from premortem.lint.source import Source
from premortem.lint.training import is_test
from premortem.lint.tree import dotted, last_name, receiver, unmoved

DISTRIBUTED = "torch.nn.parallel.DistributedDataParallel"
PARALLEL = frozenset((DISTRIBUTED, "torch.nn.parallel.DataParallel"))
# Every module has these, the wrapper too.
_OF_EVERY_MODULE = frozenset(
    "forward train eval to cuda cpu half float double bfloat16 type parameters named_parameters buffers named_buffers "
    "children named_children modules named_modules state_dict load_state_dict zero_grad requires_grad_ apply compile "
    "add_module register_module register_buffer register_parameter register_forward_hook register_forward_pre_hook "
    "register_full_backward_hook get_submodule get_parameter get_buffer share_memory extra_repr no_sync join gather "
    "scatter replicate parallel_apply register_comm_hook xpu ipu to_empty set_submodule get_extra_state "
    "set_extra_state register_state_dict_pre_hook register_backward_hook".split()
)


@dataclass(frozen=True, slots=True)
class Lost:
    """A call of a method that the wrapper does not have."""

    call: ast.Call
    owner: str
    method: str
    wrapper: str


def lost_methods(source: Source) -> Iterator[Lost]:
    """`net.encode(x)` where `net` surely is a wrapper around a model of this file that has the method."""
    wrapped = {
        name for name, made in source.assignments.items() if any(_wrapping(source, one.value) for one in made)
    }
    for call in source.nodes(ast.Call) if wrapped else ():
        owner = receiver(call)
        name, method = dotted(owner), last_name(call)
        if owner is None or name not in wrapped or method.startswith("_") or method in _OF_EVERY_MODULE:
            continue
        if f"{name}.{method}" in source.assignments or is_test(source, call):
            continue
        made = _bound(source, owner, name)
        wrappings = [found for one in made if (found := _wrapping(source, one)) is not None]
        if made and len(wrappings) == len(made) and all(_has(source, one, method) for one in wrappings):
            yield Lost(call, name, method, last_name(wrappings[0]))


def _wrapping(source: Source, value: ast.expr | None) -> ast.Call | None:
    """`DataParallel(model)` of itself and of `DataParallel(model).cuda()`."""
    value = unmoved(value)
    if isinstance(value, ast.Call) and value.args and source.names.all_in(value.func, PARALLEL):
        return value
    return None


def _bound(source: Source, use: ast.expr, name: str) -> list[ast.expr | None]:
    """All that can be bound to a name where it is used; None for what is not a plain assignment."""
    if not isinstance(use, ast.Name):
        around = source.class_of(use)
        same = all(source.class_of(one) is around for one in source.assignments.get(name, ()))
        return [one.value for one in source.assignments.get(name, ())] if around and same else []
    return [
        one.value if one.how == "assign" else None for one in source.flow(source.scope(use)).definitions(use)
    ]


def _has(source: Source, wrapping: ast.Call, method: str) -> bool:
    """Whether the model inside is of a class of this file, with this method."""
    model = unmoved(wrapping.args[0])
    if model is None:
        return False
    made = _bound(source, model, dotted(model)) if dotted(model) else [model]
    return bool(made) and all(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Name)
        and any(
            cls.name == one.func.id
            and cls.name in source.module_classes
            and source.method(cls, method) is not None
            for cls in source.classes
        )
        for one in made
    )
