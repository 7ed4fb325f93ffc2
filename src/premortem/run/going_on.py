"""How a run that was ended before its time goes on: the command, as far as the script itself can resume.

the script has an option for it, and saved a file       premortem run train.py --epochs 60 --resume last.pt
the script looks for its own file when it starts        premortem run train.py --epochs 60
the script cannot resume                                one line to add, and the same command
"""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from premortem.amounts import short
from premortem.files.syntax import last_name
from premortem.lint.declared_options import declared
from premortem.proof.entrances import is_entrance, rank

_LOADS = ("load", "resume", "restore")
_ASKS = {"exists", "isfile", "is_file"}
_SWITCHES = {"store_true", "store_false", "store_const", "count"}


def going_on(
    script: Path | None,
    argv: Sequence[str],
    saved: Path | None,
    kept: Path | None,
    models: Sequence[str],
    *,
    scheduled: bool = False,
) -> tuple[str, list[str]] | None:
    """A sentence, and the script with the words to start it with. `saved` is the script's own last checkpoint, `kept` the
    state that premortem saved of these models, `scheduled` whether schedulers are in it. None when nothing was saved."""
    tree = _tree(script)
    if saved is not None and tree is not None:
        file = short(saved)
        if (words := _with_option(tree, argv, file)) is not None:
            return f"to go on from `{file}`, which the script saved:", words
        if _looks_for_it(tree):
            return f"to go on from `{file}`, which the script loads when it starts:", list(argv)
    if kept is None:
        return None
    given = ", ".join(f"{name}={name}" for name in models if name.isidentifier()) or "model=model"
    call = f'premortem.resume("{short(kept)}", {given}, optimizer=optimizer{", scheduler=scheduler" if scheduled else ""})'
    return f"to go on, call `{call}` before the training loop, then:", list(argv)


def _with_option(tree: ast.Module, argv: Sequence[str], file: str) -> list[str] | None:
    """The words that make the script resume; None where no option does."""
    known = sorted(_options(tree), key=lambda option: rank(option[0]))
    words = list(argv)
    for name, takes in known:
        given = [place for place, word in enumerate(words) if word.partition("=")[0] == name]
        if not given:
            return [*words, name, *([file] if takes else [])]
        if takes:  # the run had itself been resumed
            place = given[-1]
            if "=" in words[place]:
                words[place] = f"{name}={file}"
            else:
                words[place + 1 : place + 2] = [file]
        return words
    return None


def _options(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Options with which something is loaded, and whether each takes a value."""
    for one in declared(_calls(tree, "add_argument", "option")):
        if not one.long or not is_entrance(one.long[-1]) or one.named("type") in {"int", "float"}:
            continue
        if _loads(tree, one.name):
            yield one.long[-1], one.said("action") not in _SWITCHES and one.said("is_flag") is not True


def _loads(tree: ast.Module, variable: str) -> bool:
    """It is what a call loads, or what decides whether something is loaded."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and any(word in last_name(node).lower() for word in _LOADS):
            if any(_mentions(each, variable) for each in (*node.args, *(one.value for one in node.keywords))):
                return True
        elif isinstance(node, ast.If) and _mentions(node.test, variable):
            inside = [each for part in node.body for each in ast.walk(part) if isinstance(each, ast.Call)]
            if any(word in last_name(each).lower() for each in inside for word in _LOADS):
                return True
    return False


def _mentions(tree: ast.AST, variable: str) -> bool:
    return any(
        (isinstance(node, ast.Attribute) and node.attr == variable)
        or (isinstance(node, ast.Name) and node.id == variable)
        or (isinstance(node, ast.Subscript) and ast.unparse(node.slice).strip("'\"") == variable)
        for node in ast.walk(tree)
    )


def _looks_for_it(tree: ast.Module) -> bool:
    """A file is loaded where a test asks whether it is there, and it is saved under the same expression."""
    saved = {ast.unparse(call.args[1]) for call in _calls(tree, "save") if len(call.args) > 1}
    asked = [node for node in ast.walk(tree) if isinstance(node, ast.If) and any(_calls(node.test, *_ASKS))]
    return any(
        ast.unparse(call.args[0]) in saved for each in asked for call in _calls(each, "load") if call.args
    )


def _calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call) and last_name(node) in names)


def _tree(script: Path | None) -> ast.Module | None:
    try:
        return ast.parse(script.read_bytes()) if script is not None else None
    except (OSError, SyntaxError, ValueError):  # edited since
        return None
