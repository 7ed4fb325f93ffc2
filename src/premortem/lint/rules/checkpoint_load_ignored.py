import ast
from collections.abc import Iterator

from premortem.lint.handlers import gives_up, is_logging, logs, statements
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import inside, names_in
from premortem.lint.tree import argument, constant, dotted, is_broad, last_name, receiver

_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)


class CheckpointLoadIgnored(Rule):
    """A checkpoint that fails to load is ignored, and the run goes on with other weights.

    ## Why it matters
    The run looks like a resumed or fine-tuned one and is neither: the weights are random or half loaded, the
    optimizer starts anew. A broad `except` also hides a damaged file and a checkpoint of another model.

    ## Usual causes
    A handler that is meant for "there is no checkpoint yet" but catches everything.

    ## What to do
    Ask first whether the file is there, and let a failure to load it stop the run. Where a fallback is meant, catch
    `FileNotFoundError` only.

    ## When it stays silent
    When the handler does something about it: another way to load, a value that tells the caller, an exit, a raise.
    The same load again with `strict=False` is another way only where something is printed or its answer is looked at.
    When the model that is loaded is made in the same `try`, and when a load that works leaves the function and another
    way to load follows. When the state comes from a model in memory. When a loop loads one tensor at a time with `strict=False`: there the ones that do not fit are left out on purpose.
    """

    card = Card("PM508", "checkpoint-load-ignored", "checkpoint", Severity.WARNING)
    triggers = (b"load_state_dict",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if not source.tries or "load_state_dict" not in source.calls:
            return
        for block in source.tries:
            loads = [
                node
                for node in _tried(source, block)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "load_state_dict"
                and not _is_from_memory(source, node)
            ]
            if (
                not loads
                or self._handled_inside(source, block, loads[0])
                or _one_by_one(source, block, loads)
                or _is_one_of_several_ways(source, block)
                or _is_answered(source, block)
                or _is_built_here(source, block, loads)
                or _is_skipped_whole(source, block, loads)
                or _is_one_of_many(source, block, loads)
            ):
                continue
            for handler in block.handlers:
                if is_broad(handler) and (again := _takes_what_fits(source, handler, loads)) is not None:
                    yield self.report(
                        source,
                        again,
                        f"when `{source.text(loads[0].func)}` fails, whatever fits is loaded and the rest stays as it was, "
                        "without a word",
                        remedy="Let it fail, or print the missing and unexpected keys that this load returns.",
                    )
                elif is_broad(handler) and all(_does_nothing(source, one, loads) for one in handler.body):
                    yield self.report(
                        source,
                        handler,
                        f"when `{source.text(loads[0].func)}` fails, the run goes on without the checkpoint",
                        remedy="Let it fail, or catch `FileNotFoundError` only.",
                    )

    @staticmethod
    def _handled_inside(source: Source, block: ast.Try, load: ast.Call) -> bool:
        """Whether a `try` further in stands around the load: that one is looked at by itself."""
        for above in source.ancestors(load):
            if above is block:
                return False
            if isinstance(above, ast.Try):
                return True
        return False


def _takes_what_fits(source: Source, handler: ast.ExceptHandler, loads: list[ast.Call]) -> ast.Call | None:
    """A second load of the same state with `strict=False`, in silence: nothing looks at the keys it could not use."""
    if logs(source, handler) or gives_up(source, handler):
        return None
    tried = {_loaded(one) for one in loads if constant(argument(one, "strict", 1)) is not False}
    for statement in statements(source, handler):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and last_name(call) == "load_state_dict":
            if constant(argument(call, "strict", 1)) is False and _loaded(call) in tried:
                return call
    return None


def _loaded(load: ast.Call) -> tuple[str, str]:
    """Into what, and which state."""
    state = argument(load, "state_dict", 0)
    return dotted(receiver(load)), ast.dump(state) if state is not None else ""


def _tried(source: Source, block: ast.Try) -> list[ast.AST]:
    return [node for statement in block.body for node in source.within(statement, nested=False)]


def _is_from_memory(source: Source, load: ast.Call) -> bool:
    """Whether the state comes from a model of this program, as when averaged weights are put in for an evaluation."""
    state = argument(load, "state_dict", 0)
    if state is None:
        return False
    made = source.flow(source.scope(load)).origins(state)
    return any(
        isinstance(node, ast.Call) and last_name(node) == "state_dict" and dotted(receiver(node)) != "torch"
        for one in made
        for node in (one, *source.within(one))
    )


def _is_one_of_several_ways(source: Source, block: ast.Try) -> bool:
    """Whether a load that works leaves the function, and what follows is another way to get a model."""
    last = block.body[-1]
    if not isinstance(last, (ast.Return, ast.Break)) and not any(
        isinstance(one, ast.Return) for one in source.within(last, nested=False)
    ):
        return False
    flow = source.flow(source.scope(block))
    return any(
        isinstance(one, ast.Call) and "load" in last_name(one).lower() and not inside(source, one, block)
        for handler in block.handlers
        for statement in flow.after(handler)
        for one in source.within(statement, nested=False)
    )


def _is_answered(source: Source, block: ast.Try) -> bool:
    """Whether a load that works gives something back, and one that fails gives back None: the caller can see it."""
    last = block.body[-1]
    if not isinstance(last, ast.Return) or constant(last.value) is not None or last.value is None:
        return False
    flow = source.flow(source.scope(block))
    later = [one for handler in block.handlers for one in flow.after(handler) if isinstance(one, ast.Return)]
    return bool(later) and all(
        one.value is None or (isinstance(one.value, ast.Constant) and one.value.value in {None, False})
        for one in later
    )


def _is_built_here(source: Source, block: ast.Try, loads: list[ast.Call]) -> bool:
    """Whether the model that is loaded is made in the same `try`: when that fails, there is no model to go on with."""
    bound = {
        dotted(node)
        for node in _tried(source, block)
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store)
    }
    return all(dotted(receiver(load)) in bound for load in loads)


def _is_skipped_whole(source: Source, block: ast.Try, loads: list[ast.Call]) -> bool:
    """Whether all that is done with the model is done in the same `try`, and a failure goes on to the next one."""
    leaves = all(isinstance(one.body[-1], (ast.Continue, ast.Return, ast.Break)) for one in block.handlers)
    models = {dotted(receiver(load)) for load in loads}
    used = [
        node
        for node in _tried(source, block)
        if isinstance(node, ast.Call) and node.lineno > loads[-1].lineno
    ]
    return leaves and any(
        dotted(call.func) in models or any(dotted(one) in models for one in call.args) for call in used
    )


def _is_one_of_many(source: Source, block: ast.Try, loads: list[ast.Call]) -> bool:
    """Whether a loop goes through checkpoints, and one that fails is passed over with all that would be done with it."""
    loops = source.loops_around(block)
    if not loops or isinstance(loops[0], ast.While):
        return False
    turning = names_in(source, loops[0].target)
    return all(isinstance(one.body[-1], ast.Continue) for one in block.handlers) and all(
        any(turning & names_in(source, one) for one in (load, *_states(source, load))) for load in loads
    )


def _states(source: Source, load: ast.Call) -> tuple[ast.expr, ...]:
    """Where the state that is loaded comes from."""
    state = argument(load, "state_dict", 0)
    return source.flow(source.scope(load)).origins(state) if state is not None else ()


def _one_by_one(source: Source, block: ast.Try, loads: list[ast.Call]) -> bool:
    """`for name, value in state.items(): ... load_state_dict({name: value}, strict=False)`"""
    turning = {
        name
        for loop in source.loops_around(block)
        if isinstance(loop, (ast.For, ast.AsyncFor))
        for name in names_in(source, loop.target)
    }
    return all(
        constant(argument(load, "strict", 1)) is False
        and isinstance(key := _only_key(argument(load, "state_dict", 0)), ast.Name)
        and key.id in turning
        for load in loads
    )


def _only_key(state: ast.expr | None) -> ast.expr | None:
    """The key of a dict that is written with one entry: `{key: value}`, `OrderedDict([(key, value)])`."""
    if isinstance(state, ast.Dict):
        return state.keys[0] if len(state.keys) == 1 else None
    if isinstance(state, ast.Call) and last_name(state) in {"dict", "OrderedDict"} and len(state.args) == 1:
        pairs = state.args[0]
        if isinstance(pairs, ast.Dict):
            return _only_key(pairs)
        if isinstance(pairs, (ast.List, ast.Tuple)) and len(pairs.elts) == 1:
            pair = pairs.elts[0]
            if isinstance(pair, (ast.List, ast.Tuple)) and len(pair.elts) == 2:
                return pair.elts[0]
    return None


def _does_nothing(source: Source, statement: ast.stmt, loads: list[ast.Call]) -> bool:
    if isinstance(statement, (ast.Pass, ast.Continue, ast.Import, ast.ImportFrom)):
        return True
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
        noted = statement.value.value is None or isinstance(statement.value.value, bool)
        return not noted or all(_is_only_a_note(source, one, loads) for one in statement.targets)
    return isinstance(statement, ast.Expr) and (
        is_logging(statement.value) or isinstance(statement.value, ast.Constant)
    )


def _is_only_a_note(source: Source, target: ast.expr, loads: list[ast.Call]) -> bool:
    """`self.loaded = False`, where nothing in the file leaves because of it; not the model that was to be loaded."""
    name = dotted(target)
    last = last_name(target)
    if not isinstance(target, ast.Attribute) or not name or name in {dotted(receiver(one)) for one in loads}:
        return False
    for test in source.nodes(ast.If):
        if any(isinstance(one, ast.Attribute) and one.attr == last for one in source.within(test.test)):
            if any(isinstance(one, _LEAVES) for one in source.within(test)) or any(
                isinstance(one, ast.Call) and "exit" in last_name(one) for one in source.within(test)
            ):
                return False
    return True
