"""Which keyword arguments a definition of a wheel accepts."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from sigdb.bodies import documented, forwarded, is_no_argument, only_raises
from sigdb.namespaces import Binding, Wheel, is_overloaded
from sigdb.natives import Natives

OPEN = "**"  # takes any keyword
UNKNOWN = "?"  # could not be read: nothing may be said about its keywords
NATIVE = "~"  # parsed by torch's C++ argument parser, which also takes numpy's spellings
RAISES = "!"  # still there, but all it does is to raise
MODULE = "/"  # not to be called

# Decorators that hand all arguments on as they are. Any other decorator makes a signature unknown.
TRANSPARENT = frozenset(
    """
    overload _overload staticmethod classmethod property abstractmethod contextmanager deprecated wraps final
    dataclass lru_cache _lru_cache cache no_grad _no_grad enable_grad inference_mode singledispatch
    _add_docstr _apply_docstring_templates add_start_docstrings add_end_docstrings set_module exposed_in
    compatibility _exception_logger _time_logger _dcp_method_logger _disable_dynamo disable ignore unused export
    _disable_dynamo_if_unsupported _require_initialized _use_grad_for_differentiable _copy_to_script_wrapper
    _wrap_type_error_to_not_implemented _handle_torch_function_and_wrap_type_error_to_not_implemented
    _defaults_from_env_vars rank_zero_only on_main_process _api_bc_check contract record
    mark_subclass_constructor_exportable_experimental
    """.split()
)
# Bases that take no arguments of their own.
PLAIN = frozenset("object Generic ABC Sized Hashable".split())


@dataclass(frozen=True, slots=True)
class Call:
    """The keywords of a callable, in their order, and the markers above."""

    items: tuple[str, ...] = ()
    # A name that a module merely imports for itself: there, but nobody is meant to take it from there.
    incidental: bool = False

    def __or__(self, other: Call) -> Call:
        return Call(tuple(dict.fromkeys((*self.items, *other.items))))

    @property
    def is_open(self) -> bool:
        return OPEN in self.items or UNKNOWN in self.items


ANYTHING = Call((UNKNOWN,))
INCIDENTAL = Call((UNKNOWN,), incidental=True)


class Reader:
    """Reads the calls of one wheel."""

    def __init__(self, wheel: Wheel, natives: Natives) -> None:
        self._wheel = wheel
        self._natives = natives
        self._classes: dict[ast.ClassDef, Call] = {}
        self._reading: set[ast.AST | None] = set()

    def call(self, bindings: Iterable[Binding]) -> Call:
        """What any of these accepts: a keyword is refused only if all refuse it."""
        bound = tuple(bindings)
        real = tuple(b for b in bound if self._wheel.is_stub(b.module) or not is_overloaded(b.node))
        result = Call()
        for binding in real or bound:
            if binding.node is not None and binding.node in self._reading:
                continue  # an alias, or a documented builtin, that leads back to its own name
            self._reading.add(binding.node)
            try:
                result |= self._one(binding)
            finally:
                self._reading.discard(binding.node)
        if real and all(only_raises(binding.node) for binding in real):
            result |= Call((RAISES,))
        return result

    def _one(self, binding: Binding) -> Call:
        match binding.node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() as function:
                return self._function(function, binding.module)
            case ast.ClassDef() as definition:
                return self._class(definition, binding.module)
            case ast.Name() | ast.Attribute() as other:
                found = self._wheel.resolve(f"{binding.module}.{ast.unparse(other)}")
                return self.call(found) if found else ANYTHING
            case ast.Call() as made:
                return self._made(made, binding.module)
        return ANYTHING

    def _made(self, made: ast.Call, module: str) -> Call:
        """Functions that are the value of an expression: torch's documented builtins and switched pools."""
        maker = ast.unparse(made.func).rpartition(".")[2]
        if maker == "_add_docstr" and made.args:
            return self._builtin(made, module)
        if maker == "boolean_dispatch":
            result = Call()
            for keyword in made.keywords:
                if keyword.arg in {"if_true", "if_false"} and isinstance(keyword.value, ast.Name):
                    result |= self.call(self._wheel.resolve(f"{module}.{keyword.value.id}"))
            return result
        return ANYTHING

    def _builtin(self, made: ast.Call, module: str) -> Call:
        path = ast.unparse(made.args[0])
        name = path.rpartition(".")[2]
        result = Call()
        if operands := self._natives.keywords(name):
            result |= Call((NATIVE, *operands))
        if path.startswith("torch."):
            result |= self.call(self._wheel.resolve(path))
        if len(made.args) > 1:
            result |= Call(tuple(documented(made.args[1])))
        return result if NATIVE in result.items else ANYTHING

    def _function(self, function: ast.FunctionDef | ast.AsyncFunctionDef, module: str) -> Call:
        if module == "torch._C":
            return ANYTHING  # bound by hand; the stub's names are not always the real ones
        native = (NATIVE,) if module in {"torch._C._VariableFunctions", "torch._C._nn"} else ()
        return Call(native) | self._arguments(function)

    def _arguments(self, function: ast.FunctionDef | ast.AsyncFunctionDef, *, bound: bool = False) -> Call:
        extra: list[str] = []
        for decorator in function.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = ast.unparse(called).rpartition(".")[2]
            if name == "deprecate_kwarg" and isinstance(decorator, ast.Call) and decorator.args:
                extra += [str(a.value) for a in decorator.args[:1] if isinstance(a, ast.Constant)]
            elif name not in TRANSPARENT:
                return ANYTHING
        arguments = function.args
        names = [argument.arg for argument in arguments.args]
        if bound:
            names = names[0 if arguments.posonlyargs else 1 :]
        names += [argument.arg for argument in arguments.kwonlyargs]
        names += [OPEN] if arguments.kwarg else []
        return Call(tuple(dict.fromkeys([*names, *extra])))

    def method(self, function: ast.FunctionDef | ast.AsyncFunctionDef, module: str) -> Call:
        """A method, called on an instance; methods of Tensor are parsed in C++ unless Python defines them."""
        static = any(ast.unparse(d) == "staticmethod" for d in function.decorator_list)
        call = self._arguments(function, bound=not static)
        if module != "torch._C":
            return call
        vararg = (function.args.vararg.arg,) if function.args.vararg else ()
        return Call((NATIVE,)) | call | Call(vararg)

    # Classes

    def _class(self, definition: ast.ClassDef, module: str) -> Call:
        if definition not in self._classes:
            self._classes[definition] = ANYTHING  # a base that leads back here
            self._classes[definition] = self._construct(definition, module)
        return self._classes[definition]

    def _construct(self, definition: ast.ClassDef, module: str) -> Call:
        if self._wheel.is_stub(module):
            return ANYTHING  # a C++ class
        if any(keyword.arg == "metaclass" for keyword in definition.keywords):
            # Metaclasses of torch rarely touch the arguments; those that do are not worth a false alarm.
            meta = next(ast.unparse(k.value) for k in definition.keywords if k.arg == "metaclass")
            if meta.rpartition(".")[2] not in {"ABCMeta", "_ParameterMeta", "_BufferMeta", "_TensorMeta"}:
                return ANYTHING
        own = {f.name: f for f in definition.body if isinstance(f, ast.FunctionDef) and not is_overloaded(f)}
        new = self._arguments(own["__new__"], bound=True) if "__new__" in own else None
        if "__init__" in own:
            call = self._init(own["__init__"], definition, module)
        elif (fields := self._fields(definition, module)) is not None:
            call = Call(tuple(fields))
        elif new is not None:
            call = new
        else:
            call = self._inherited(definition, module)
        # Both see the arguments; the stricter decides, and an open `__new__` is the usual one.
        if new is not None and not new.is_open and call.is_open:
            return new
        return call

    def _inherited(self, definition: ast.ClassDef, module: str) -> Call:
        for base in definition.bases:
            inner = base.value if isinstance(base, ast.Subscript) else base
            name = ast.unparse(inner)
            if name.rpartition(".")[2] == "Protocol":
                return ANYTHING  # nobody makes one
            if name.rpartition(".")[2] in PLAIN:
                continue
            found = self._wheel.resolve(f"{module}.{name}")
            classes = [b for b in found if isinstance(b.node, ast.ClassDef)]
            if not classes:
                return ANYTHING
            call = self.call(classes)
            # A base without a constructor passes the question on to its neighbour.
            if call.items:
                return call
        return Call()

    def _init(self, init: ast.FunctionDef, definition: ast.ClassDef, module: str) -> Call:
        call = self._arguments(init, bound=True)
        if OPEN not in call.items or init.args.kwarg is None:
            return call
        popped = forwarded(init, init.args.kwarg.arg)
        if popped is None:
            return call
        above = self._inherited(definition, module)
        if above.is_open or not above.items:
            return call  # a mixin: what comes next is decided by those who use it
        return Call(tuple(item for item in call.items if item != OPEN)) | Call(tuple(popped)) | above

    def _fields(self, definition: ast.ClassDef, module: str) -> list[str] | None:
        """The constructor that a dataclass or a NamedTuple gets from its fields."""
        decorators = [ast.unparse(d) for d in definition.decorator_list]
        made = any(d.partition("(")[0].rpartition(".")[2] == "dataclass" for d in decorators)
        named = any(ast.unparse(base).rpartition(".")[2] == "NamedTuple" for base in definition.bases)
        if not (made or named):
            return None
        fields: list[str] = []
        for base in definition.bases if made else ():
            for binding in self._wheel.resolve(f"{module}.{ast.unparse(base)}"):
                if isinstance(binding.node, ast.ClassDef):
                    fields += self._fields(binding.node, binding.module) or []
        for statement in definition.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                    if "ClassVar" in ast.unparse(annotation) or is_no_argument(value):
                        continue
                    fields.append(name)
        return fields
