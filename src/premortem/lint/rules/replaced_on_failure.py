import ast
from collections.abc import Iterator

from premortem.lint.handlers import gives_up
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import is_test, names_in
from premortem.lint.tree import argument, constant, dotted, is_broad, last_name, parts, receiver, unmoved

# What fetches a model, a tokenizer or a dataset by its name: the first argument says which one.
_BY_NAME = frozenset(
    "from_pretrained load_dataset create_model load_model load_from_disk get_encoding get_dataset".split()
)
_PRETRAINED = ("pretrained", "weights")


class ReplacedOnFailure(Rule):
    """A model, a tokenizer or a dataset that cannot be had is replaced by another one, and the run goes on.

    ## Why it matters
    The settings name one thing and the run trains with another: a vocabulary of another language model, a sample dataset
    in the place of the real one, random weights in the place of pretrained ones. A line in the log of a job that ran for
    three days is all that tells.

    ## Usual causes
    A download failed once on a machine without network, so that a default was put in its place.

    ## What to do
    Let it fail: what the run was asked for is not there. Where a second source is meant, take the same thing from there.

    ## When it stays silent
    When the handler fetches the same thing in another way, raises on some path, or when the `try` asks for a package that
    may not be installed. When the name of the replacement is made from the name that was asked for.
    """

    card = Card("PM566", "replaced-on-failure", "config", Severity.WARNING, preview=True)
    needs = (b"except", b"torch")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if not source.names.imports("torch"):
            return
        for block in source.tries:
            handlers = [one for one in block.handlers if is_broad(one)]
            if not handlers or is_test(source, block) or _asks_for_a_package(source, block):
                continue
            tried = dict(_made(source, block.body))
            for handler in handlers if tried else ():
                if gives_up(source, handler) and not _only_if_this_fails_too(source, handler):
                    continue
                for place, other in _made(source, handler.body):
                    first = tried.get(place)
                    if first is not None and (what := _is_another(source, first, other)):
                        yield self.report(
                            source,
                            other,
                            f"when `{source.text(first.func)}` fails, the run goes on with {what}",
                            remedy="Let it fail, or take the same thing from another place.",
                        )
                        break


def _made(source: Source, body: list[ast.stmt]) -> Iterator[tuple[str, ast.Call]]:
    """What these statements build or fetch, by the name that gets it; "return" for what they give back."""
    for statement in body:
        for node in (statement, *source.within(statement, nested=False)):
            if isinstance(node, ast.Assign):
                places = [dotted(part) for target in node.targets for part in parts(target)]
            elif isinstance(node, ast.Return):
                places = ["return"]
            else:
                continue
            value = unmoved(node.value)
            if len(places) == 1 and places[0] and isinstance(value, ast.Call) and _is_part(source, value):
                yield places[0], value


def _is_part(source: Source, call: ast.Call) -> bool:
    """A model, a tokenizer or a dataset: by what fetches it, by its class, or as one of torchvision's."""
    return (
        last_name(call) in _BY_NAME
        or last_name(call) in source.module_classes
        or any(
            name.startswith(("torchvision.models.", "torchvision.datasets."))
            for name in source.names.of(call.func)
        )
    )


def _is_another(source: Source, first: ast.Call, other: ast.Call) -> str:
    """What the second call gives that the first would not have given, in words; "" where it can be the same thing."""
    if dotted(first.func) == dotted(other.func) and _is_pretrained(first) and not _is_pretrained(other):
        return "weights that are not pretrained"
    if last_name(first) in _BY_NAME:
        if last_name(other) != last_name(first) or dotted(receiver(first)) != dotted(receiver(other)):
            return ""  # another reader, perhaps of the same thing
        asked, given = _named(first), _named(other)
        if asked is None or given is None or not isinstance(name := constant(given), str):
            return ""
        if names_in(source, asked) and name not in _texts(source, asked):
            return f'"{name}"'
        said = constant(asked)
        if isinstance(said, str) and _tail(said) != _tail(name):
            return f'"{name}"'
        return ""
    if last_name(first) != last_name(other) and last_name(other) not in _BY_NAME:
        return f"`{source.text(other.func)}`"
    return ""


def _is_pretrained(call: ast.Call) -> bool:
    """Whether a call asks for weights: `pretrained=True`, `weights="DEFAULT"`; what it cannot be seen to refuse counts."""
    asked = [one for name in _PRETRAINED if (one := argument(call, name)) is not None]
    return any(not isinstance(one, ast.Constant) or bool(one.value) for one in asked)


def _named(call: ast.Call) -> ast.expr | None:
    if call.args and not isinstance(call.args[0], ast.Starred):
        return call.args[0]
    return next((one.value for one in call.keywords if one.arg is not None and "name" in one.arg), None)


def _tail(name: str) -> str:
    """`bert-base-uncased` of `./models/bert-base-uncased`."""
    return name.rstrip("/").rpartition("/")[2].lower()


def _texts(source: Source, value: ast.expr) -> set[str]:
    """The strings that a name can hold here, as far as this function says."""
    origins = source.flow(source.scope(value)).origins(value)
    return {text for one in origins if isinstance(text := constant(one), str)}


def _asks_for_a_package(source: Source, block: ast.Try) -> bool:
    return any(
        isinstance(node, (ast.Import, ast.ImportFrom))
        for statement in block.body
        for node in (statement, *source.within(statement, nested=False))
    )


def _only_if_this_fails_too(source: Source, handler: ast.ExceptHandler) -> bool:
    """Whether every `raise` of a handler stands in a handler inside of it: it gives up when the replacement fails."""
    raised = [node for node in source.within(handler) if isinstance(node, ast.Raise)]
    return bool(raised) and all(
        any(
            isinstance(above, ast.ExceptHandler) and above is not handler
            for above in _until(source, node, handler)
        )
        for node in raised
    )


def _until(source: Source, node: ast.AST, top: ast.AST) -> Iterator[ast.AST]:
    for above in source.ancestors(node):
        if above is top:
            return
        yield above
