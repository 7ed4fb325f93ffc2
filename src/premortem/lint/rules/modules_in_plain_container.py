import ast
from collections.abc import Iterator

from premortem.lint.layers import builds_layer, has_weights
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import names_in, without_grad
from premortem.lint.tree import FUNCTIONS, Function, argument, constant, dotted, last_name, receiver

_CONTAINERS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp)
# Reading a list through these does not register anything.
_HARMLESS = frozenset(
    "enumerate zip len range reversed iter list tuple append extend items values keys get print sorted".split()
)
_OWN_REGISTRY = frozenset(
    "parameters named_parameters _apply to cuda state_dict configure_optimizers children named_children".split()
)
_REGISTERS = frozenset(
    "add_module register_module setattr __setattr__ register_parameter ParameterList".split()
)


class ModulesInPlainContainer(Rule):
    """Layers are kept in a plain list, tuple or dict, where the module does not see them.

    ## Why it matters
    `nn.Module` registers only modules that are attributes themselves, or stand in a ModuleList or ModuleDict. The
    others are missing from `parameters()`, so the optimizer never trains them, `.to(device)` leaves them behind and
    the checkpoint does not hold them.

    ## Usual causes
    `self.layers = [nn.Linear(...) for ...]` instead of `nn.ModuleList([...])`.

    ## What to do
    Wrap it: `nn.ModuleList([...])`, `nn.ModuleDict({...})`.

    ## When it stays silent
    When the layers are registered in any other way, have no weights, are frozen or run under `no_grad` (a teacher is
    kept in a list on purpose), or are never called.
    """

    card = Card("PM519", "modules-in-plain-container", "optimizer-ownership", Severity.ERROR)
    triggers = (b"nn.", b"torch.nn")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for statement in source.nodes(ast.Assign):
            if not isinstance(statement.value, (*_CONTAINERS, ast.Name, ast.Call)):
                continue
            target = statement.targets[0]
            if not isinstance(target, ast.Attribute) or dotted(target) != f"self.{target.attr}":
                continue
            value = _container(source, statement.value)
            function = source.function(statement) if value is not None else None
            owner = source.parent(function) if function is not None else None
            if value is None or function is None or not isinstance(owner, ast.ClassDef):
                continue
            name = dotted(target)
            if function.name != "__init__" or owner.name not in source.module_classes:
                continue
            if len(source.assignments[name]) > _once(source, owner, name):
                continue
            held = _holds_layers(source, name, statement.value, value, function)
            if held and self._is_unseen(source, owner, name):
                is_list = isinstance(value, (ast.List, ast.Tuple, ast.ListComp))
                kind = "ModuleList" if is_list else "ModuleDict"
                yield self.report(
                    source,
                    statement,
                    f"the layers in `{name}` are not registered: they are not trained, moved or saved",
                    remedy=f"Wrap them in `nn.{kind}`.",
                )

    @staticmethod
    def _is_unseen(source: Source, owner: ast.ClassDef, name: str) -> bool:
        """Whether the layers are called outside of `__init__` and nothing else can have registered them."""
        if any(isinstance(one, FUNCTIONS) and one.name in _OWN_REGISTRY for one in owner.body):
            return False
        called = False
        if any(_freezes(node) for node in source.within(owner)):
            return False  # filters that are set by hand: nothing to train or save
        for node in source.within(owner):
            if isinstance(node, ast.Call) and last_name(node) in _REGISTERS:
                return False
            if not (isinstance(node, ast.Attribute) and dotted(node) == name):
                continue
            if _escapes(source, node):
                return False
            function = source.function(node)
            if function is not None and function.name != "__init__" and _is_called(source, node, function):
                if without_grad(source, node):
                    return False
                called = True
        return called


def _container(source: Source, value: ast.expr) -> ast.expr | None:
    """The list, tuple or dict that this is: written here, or held by a local name until now."""
    if isinstance(value, ast.Name):
        # Nearly always the name is a parameter: then there is no need to draw the flow.
        if not any(isinstance(one.value, _CONTAINERS) for one in source.assignments.get(value.id, ())):
            return None
        found = source.flow(source.scope(value)).definitions(value)
        given = [one.value for one in found if one.how == "assign" and isinstance(one.value, _CONTAINERS)]
        if len(found) != 1 or not given or _is_handed_on(source, value):
            return None
        return given[0]
    if isinstance(value, ast.Call):
        is_dict = isinstance(value.func, ast.Name) and value.func.id == "dict" and not value.args
        return value if is_dict and not source.names.of(value.func) else None
    return value


def _is_handed_on(source: Source, value: ast.Name) -> bool:
    """`nn.Sequential(*layers)`: what a local list holds may be registered there."""
    return any(
        isinstance(node, ast.Name)
        and node.id == value.id
        and isinstance(node.ctx, ast.Load)
        and _escapes(source, node)
        for node in source.within(source.scope(value))
        if node is not value
    )


def _holds_layers(source: Source, name: str, held: ast.expr, value: ast.expr, function: Function) -> bool:
    if isinstance(value, (ast.ListComp, ast.DictComp)):
        return has_weights(source, value.elt if isinstance(value, ast.ListComp) else value.value)
    if isinstance(value, ast.Call):
        return any(has_weights(source, one.value) for one in value.keywords)
    items = value.values if isinstance(value, ast.Dict) else value.elts  # type: ignore[attr-defined]
    if any(_is_layer(source, one) for one in items):
        return True
    names = {name, dotted(held)} - {""}
    for node in source.within(function, nested=False):
        if isinstance(node, ast.Call) and last_name(node) == "append" and node.args:
            if dotted(receiver(node)) in names and _is_layer(source, node.args[0]):
                return True
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            if dotted(node.targets[0].value) in names and _is_layer(source, node.value):
                return True
    return False


def _is_layer(source: Source, item: ast.expr) -> bool:
    if not isinstance(item, ast.Name):
        return has_weights(source, item)
    built = builds_layer(source, item)
    # `self.fc = layer` beside it registers the layer.
    return built and not any(
        isinstance(one, ast.Assign) and isinstance(one.value, ast.Name) and one.value.id == item.id
        for one in source.within(source.scope(item))
    )


def _once(source: Source, owner: ast.ClassDef, name: str) -> int:
    """How many bindings of this name belong to other classes of the file, plus the one in question."""
    return 1 + sum(source.class_of(one) is not owner for one in source.assignments[name])


def _escapes(source: Source, node: ast.Attribute | ast.Name) -> bool:
    """Whether the container is handed on to something that may register what it holds."""
    above = source.parent(node)
    if isinstance(above, ast.Starred):
        return True
    if isinstance(above, (ast.Call, ast.keyword)):
        call = above if isinstance(above, ast.Call) else source.parent(above)
        return not (isinstance(call, ast.Call) and last_name(call) in _HARMLESS)
    # `other = self.layers`, `return self.layers`, `self.layers + [...]`: lost sight of.
    return isinstance(above, (ast.Assign, ast.Return, ast.BinOp)) and isinstance(node.ctx, ast.Load)


def _is_called(source: Source, node: ast.Attribute, function: Function) -> bool:
    above = source.parent(node)
    if isinstance(above, ast.Subscript):
        call = source.parent(above)
        return isinstance(call, ast.Call) and call.func is above
    for up in source.ancestors(node):
        iterates = isinstance(up, (ast.For, ast.AsyncFor, ast.comprehension))
        if iterates and (node is up.iter or node in source.within(up.iter)):  # type: ignore[attr-defined]
            names = names_in(source, up.target)  # type: ignore[attr-defined]
            return any(
                isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in names
                for one in source.within(function)
            )
        if up is function:
            return False
    return False


def _freezes(node: ast.AST) -> bool:
    """`layer.weight = nn.Parameter(kernel, requires_grad=False)`, `layer.weight.requires_grad = False`."""
    if not isinstance(node, ast.Assign):
        return False
    last = [one.attr for one in node.targets if isinstance(one, ast.Attribute)]
    if "requires_grad" in last:
        return constant(node.value) is False
    given = argument(node.value, "requires_grad") if isinstance(node.value, ast.Call) else None
    return "weight" in last and constant(given) is False
