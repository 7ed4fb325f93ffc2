import ast
from collections.abc import Iterator

from premortem.lint import drift
from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.target import Pin
from premortem.lint.tree import argument, constant, dotted
from premortem.lint.words_used import mentions

LOAD = frozenset(("torch.load",))
STRICT = (2, 6)  # the first release in which `weights_only` is True unless it is given
# Only an object that was pickled whole has these; a dict of tensors has none of them.
OF_MODULES = frozenset(
    "eval train parameters named_parameters state_dict load_state_dict modules children".split()
)
PREPARED = pattern(r"safe_globals|^TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD$")
CAUGHT = frozenset("Exception BaseException UnpicklingError RuntimeError".split())


class TorchLoadHazards(Rule):
    """A `torch.load` that fails, or does something else, on the version or the machine it will run on.

    ## Why it matters
    Since torch 2.6 `torch.load` reads tensors and plain containers only, unless `weights_only=False` is given: a model
    that was saved whole raises UnpicklingError. Before 2.6 it runs whatever code is in the file. Without `map_location`
    the tensors go back to the device they were saved from: with several processes all of them to the first GPU, and
    on a machine without one the load fails.

    ## Usual causes
    `torch.save(model, path)` in code written for torch 1.x or 2.0 to 2.5; a checkpoint that was written on one GPU.

    ## What to do
    Save `model.state_dict()` and load it into a model. For a file you trust and cannot change, give
    `weights_only=False`. Give `map_location="cpu"`, or the device of this process.

    ## When it stays silent
    A whole model is reported only when what was loaded is used as one (`.eval()`, `.parameters()`, a call). Remarks
    about `weights_only` are made only for versions before 2.6, those about `map_location` only in files that use
    DistributedDataParallel or fall back to the CPU.
    """

    card = Card("PM583", "torch-load-hazards", "checkpoint", Severity.ERROR)
    triggers = (b"torch.load", b"import load")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        pin = drift.pin(project, "torch")
        for call in source.calls_to("load"):
            if not source.names.all_in(call.func, LOAD) or drift.is_hidden(source, call.func):
                continue
            if any(keyword.arg is None for keyword in call.keywords):
                continue  # `**options` may say all of it
            if found := self._whole_model(source, call, pin) or self._habit(source, call, project, pin):
                yield found

    def _whole_model(self, source: Source, call: ast.Call, pin: Pin) -> Diagnostic | None:
        if pin.newest is None or pin.newest < STRICT or not _reads_weights_only(call):
            return None
        use = _use_as_module(source, call)
        if use is None or argument(call, "pickle_module", 2) is not None:
            return None
        if mentions(source, source.tree, PREPARED, given=True) or drift.is_guarded(source, call, CAUGHT):
            return None
        older = pin.minors[0] < STRICT
        return self.report(
            source,
            call,
            f"a whole model is loaded (`{use}` below), but since torch 2.6 `torch.load` reads weights only;"
            + (f" {pin} allows that" if older else f" {pin.here}"),
            remedy="Save and load `model.state_dict()`; or give `weights_only=False` for a file you trust.",
            severity=Severity.WARNING if older or pin.assumed else Severity.ERROR,
        )

    def _habit(self, source: Source, call: ast.Call, project: Facts, pin: Pin) -> Diagnostic | None:
        if argument(call, "weights_only") is None and project.target and project.target.version < STRICT:
            return self.report(
                source,
                call,
                f"before torch 2.6 `torch.load` runs any code that is in the file; the version here is {pin}",
                remedy="Give `weights_only=True`.",
                severity=Severity.INFO,
            )
        if argument(call, "map_location", 1) is None and (why := _other_device(source)):
            return self.report(
                source,
                call,
                f"without `map_location` the tensors go back to the device they were saved from, but {why}",
                remedy='Give `map_location="cpu"`, or the device of this process.',
                severity=Severity.INFO,
            )
        return None


def _reads_weights_only(call: ast.Call) -> bool:
    given = argument(call, "weights_only")
    return given is None or constant(given) is True


def _use_as_module(source: Source, call: ast.Call) -> str | None:
    """How the loaded object is used as a module, in the words of the program; None when it is not."""
    above = source.parent(call)
    if isinstance(above, ast.Attribute) and above.attr in OF_MODULES:
        return f".{above.attr}()"
    if not isinstance(above, ast.Assign) or len(above.targets) != 1:
        return None
    target = above.targets[0]
    name = dotted(target)
    if not name:
        return None
    scope = source.scope(call)
    for node in source.within(scope, nested=False):
        match node:
            case ast.Call(func=ast.Attribute(value=held, attr=attr)) if attr in OF_MODULES:
                words = f"{name}.{attr}()"
            case ast.Call(func=ast.Name() | ast.Attribute() as held):
                words = f"{name}(…)"
            case _:
                continue
        if dotted(held) == name and _is_all_it_holds(source, scope, held, above):
            return words
    return None


def _is_all_it_holds(source: Source, scope: ast.AST, held: ast.expr, statement: ast.Assign) -> bool:
    """Whether this one assignment is where the value at `held` comes from."""
    if isinstance(held, ast.Name):
        definitions = source.flow(scope).definitions(held)
        return bool(definitions) and all(one.statement is statement for one in definitions)
    bound = source.assignments.get(dotted(held), [])
    return bound == [statement] and held.lineno > statement.lineno


def _other_device(source: Source) -> str:
    if "DistributedDataParallel" in source.calls:
        return "this file trains with several processes"
    for available in source.calls_to("is_available"):
        if source.names.all_in(available.func, {"torch.cuda.is_available"}):
            if isinstance(source.parent(available), ast.IfExp):
                return "this file also runs without a GPU"
    return ""
