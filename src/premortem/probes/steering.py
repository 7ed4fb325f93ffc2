"""Variables of the environment that the script asks for and that are set: what steers a run from outside.

Its own code is read, not the calls: a script asks for a variable by its name, before torch is there as well as after. Classes
of pydantic's settings ask for a variable by the name of each field, and configuration files that the script has read by
`$NAME`, `${NAME}` or `${oc.env:NAME,default}`.
"""

import ast
import functools
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from premortem.events import EnvironmentRead, Variable
from premortem.files import untrusted
from premortem.files.described import CONFIGS
from premortem.files.variables import PROCESSES, is_plain
from premortem.metric_words import words
from premortem.probes.files_read import FileReading
from premortem.probes.session import Session

_MOST_FILES = 1000
_MOST_BYTES = 1_000_000  # of one file
_BY_PREFIX = ("startswith", "removeprefix")
_RATE = frozenset({"lr", "rate"})
_WORDS = (b"environ", b"getenv", b"Settings")
# `$NAME`, `${NAME}`, `${NAME:-default}`, and what OmegaConf, Lightning and pyyaml-env-tag write.
_PUT_IN = re.compile(
    r"\$(?:\{(?:oc\.env:|env:|ENV:)?)?([A-Za-z_][A-Za-z0-9_]*)|!ENV\s+\$?\{?([A-Za-z_][A-Za-z0-9_]*)"
)


class Steering:
    def __init__(self, session: Session, reading: FileReading) -> None:
        self.session = session
        self.reading = reading
        self._told: set[str] = set()

    def tell(self) -> None:
        set_here = {name: value for name, value in os.environ.items() if may_steer(name, value)}
        found = {
            variable.name: variable
            for path, text in (self.reading.sources() if set_here else {}).items()
            for variable in asked_for(path, text, set_here)
        }
        configs = [path for path in self.reading.files() if Path(path).suffix.lower() in CONFIGS]
        found |= {variable.name: variable for path in configs[:_MOST_FILES] for variable in put_in(path)}
        if not found.keys() <= self._told:
            self._told = set(found)
            self.session.emit(EnvironmentRead(step=self.session.step, variables=tuple(found.values())))


def may_steer(name: str, value: str) -> bool:
    return is_plain(name, value) or (name in PROCESSES and is_alone(value))


def asked_for(path: str, text: bytes, set_here: dict[str, str]) -> Iterator[Variable]:
    for name, line, of_rate in _asked_for(text, frozenset(set_here)):
        yield Variable(name, set_here[name], path, line, of_rate)


@functools.lru_cache(
    maxsize=_MOST_FILES
)  # the same texts are asked again whenever something was imported or read
def _asked_for(text: bytes, set_here: frozenset[str]) -> tuple[tuple[str, int, bool], ...]:
    if len(text) > _MOST_BYTES or not any(word in text for word in _WORDS):
        return ()
    # Parsing a large project takes a second, and hardly a file of it names a variable that is set.
    by_prefix = b"startswith" in text or b"removeprefix" in text
    if b"Settings" not in text and not by_prefix and not any(name.encode() in text for name in set_here):
        return ()
    try:
        tree = ast.parse(text)
        found = tuple(names_in(tree, sorted(set_here)))
        rates = {name for name, _ in found if name in PROCESSES and multiplies_a_rate(tree, name)}
        return tuple((name, line, name in rates) for name, line in found)
    except (SyntaxError, ValueError):
        return ()  # it was imported, and was edited since


def is_alone(value: str) -> bool:
    """No launcher has started this process, and there are no others to share the data with."""
    import torch.distributed

    joined = torch.distributed.is_available() and torch.distributed.is_initialized()
    shared = os.environ.get("SLURM_STEP_NUM_TASKS", "1") != "1"  # a task of `srun`, with others beside it
    return value.isdigit() and not joined and not shared and "TORCHELASTIC_RUN_ID" not in os.environ


def put_in(path: str) -> Iterator[Variable]:
    """Variables whose values a configuration file takes."""
    try:
        lines = untrusted.read(path, _MOST_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return
    for number, line in enumerate(lines, start=1):
        for match in _PUT_IN.finditer(line.partition("#")[0]):
            name = match[1] or match[2]
            if (value := os.environ.get(name)) is not None and is_plain(name, value):
                yield Variable(name, value, path, number)


def names_in(tree: ast.AST, set_here: Collection[str]) -> Iterator[tuple[str, int]]:
    by_field = {name.upper(): name for name in set_here}
    every = list(ast.walk(tree))
    written = {
        id(node.slice)
        for node in every
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    }
    for node in every:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in written or node.value not in set_here:
                continue
            yield node.value, node.lineno
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _BY_PREFIX and node.args:
            # `for name, value in os.environ.items(): if name.startswith("APP_"): ...`
            start = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
            if isinstance(start, str) and len(start) > 1 and start == start.upper():
                yield from ((name, node.lineno) for name in set_here if name.startswith(start))
        elif isinstance(node, ast.ClassDef) and any("Settings" in ast.unparse(base) for base in node.bases):
            prefix = next((p for p in prefixes(node)), "")
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    name = f"{prefix}{field.target.id}".upper()
                    if name in by_field:
                        yield by_field[name], field.lineno


def multiplies_a_rate(tree: ast.AST, name: str) -> bool:
    """`lr * int(os.environ["WORLD_SIZE"])`, or by a variable or an attribute that was given its value."""
    every = list(ast.walk(tree))
    holds = {name}
    for node in every:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            if name in _said(node.value):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                holds |= {getattr(target, "id", getattr(target, "attr", name)) for target in targets}
    return any(
        isinstance(inner, (ast.BinOp, ast.AugAssign))
        and isinstance(inner.op, ast.Mult)
        and holds & _said(inner)
        and any(words(said) & _RATE for said in _said(node))
        for node in every
        if isinstance(node, (ast.stmt, ast.keyword)) and not hasattr(node, "body")
        for inner in ast.walk(node)
    )


def _said(tree: ast.AST) -> set[str]:
    """The names and texts in a piece of code."""
    fields = ((node, field) for node in ast.walk(tree) for field in ("id", "attr", "arg", "value"))
    return {said for node, field in fields if isinstance(said := getattr(node, field, None), str)}


def prefixes(settings: ast.ClassDef) -> Iterator[str]:
    """`env_prefix` of a class of settings, wherever in it that stands."""
    for node in ast.walk(settings):
        if (
            isinstance(node, ast.keyword)
            and node.arg == "env_prefix"
            and isinstance(node.value, ast.Constant)
        ):
            yield str(node.value.value)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            if any(isinstance(target, ast.Name) and target.id == "env_prefix" for target in node.targets):
                yield str(node.value.value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if (
                    isinstance(key, ast.Constant)
                    and key.value == "env_prefix"
                    and isinstance(value, ast.Constant)
                ):
                    yield str(value.value)
