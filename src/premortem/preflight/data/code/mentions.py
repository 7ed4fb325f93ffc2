"""The paths that the code speaks of, and what it does to them."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from premortem.lint.source import Source
from premortem.lint.tree import argument, constant, dotted, last_name, receiver
from premortem.preflight.data.code.binding import Bindings
from premortem.preflight.data.code.syntax import assigned, calls, opens_with, texts, with_defaults
from premortem.preflight.project import Project

_DATA = re.compile(
    r"data|train|valid|\bval\b|test|split|image|img|mask|label|blur|sharp|frame|sample|corpus|folder|video|audio|csv",
    re.IGNORECASE,
)
_OUTPUT = re.compile(
    r"out|save|log|ckpt|checkpoint|result|cache|weight|runs\b|export|dump|writer|pretrain|resume|plot|fig|model|tmp|temp|predict",
    re.IGNORECASE,
)
_MAKES = set(
    "makedirs mkdir mkdtemp save savez savefig to_csv imwrite copy copytree move rmtree write_text write_bytes symlink unlink touch "
    "extractall unpack_archive".split()
)
_WRITES = re.compile(r"save|write|dump|export", re.IGNORECASE)
_PATHS = {"Path", "join", "joinpath", "str", "expanduser", "abspath"}
_GLOBS = {"glob", "rglob", "iglob"}
_LISTS = {"listdir", "scandir", "walk", "iterdir", "ImageFolder", "DatasetFolder", "read_csv"}
_RESIZES = re.compile(r"resize|crop|pad|interpolate", re.IGNORECASE)
# What a program calls that knows of gaps in its data.
_KNOWS_GAPS = frozenset(
    "isna isnull notna notnull fillna dropna SimpleImputer KNNImputer IterativeImputer".split()
)
# These are also asked of losses and gradients, which says nothing about data; `interpolate` is also what makes pictures larger.
_ASKS_NUMBERS = frozenset(
    "isnan isfinite isinf nan_to_num nanmean nanmedian nanstd nanmin nanmax interpolate".split()
)
_READS = frozenset(
    "load loadtxt genfromtxt fromfile memmap read_csv read_table read_parquet read_json read_hdf read_excel open_dataset open_mfdataset File "
    "imread from_numpy open reader DictReader getdata get_fdata".split()
)
_READERS = re.compile(
    r"^(__getitem__|__iter__|_?(load|read|get|prepare|parse|clean|fill|impute|collate|preprocess|make_data|build_data)\w*)$"
)
_OF_THE_RUN = re.compile(
    r"loss|grad|norm|cost|nll|metric|score|acc|weight|param|logit|\bout|pred", re.IGNORECASE
)
_STEPS = 3  # from what is read to what is made from it
_TABLES = frozenset({"pd", "pandas", "np", "numpy", "xr", "xarray", "ma", "jnp"})
_CONVERTS = {"convert", "astype", "float", "as_tensor", "imread", "decode_image", "Grayscale"}
_CLIP = re.compile(
    r"^(clip_?len(gth)?|num_frames|n_frames|nframes|clip_?frames|frames_per_clip|temporal_window)$",
    re.IGNORECASE,
)
_FETCHES = re.compile(r"download|urlretrieve|load_dataset|snapshot|fetch_|wget|prepare_data", re.IGNORECASE)


@dataclass(frozen=True)
class Mention:
    """A path in the code."""

    text: str
    whole: bool
    file: str
    line: int
    data: bool  # what stands around it speaks of data
    pathlike: bool  # it is used as a path, not only as a word


@dataclass
class Spoken:
    """Everything the code says about files."""

    mentions: list[Mention] = field(default_factory=list)
    made: set[str] = field(default_factory=set)  # what it makes or writes by itself
    globs: list[tuple[str, str, int]] = field(default_factory=list)  # pattern with its folder, file, line
    lists: bool = False  # it also finds files in other ways than by patterns
    handled: set[str] = field(default_factory=set)  # "size", "type", "gaps"
    suffixes: set[str] = field(default_factory=set)  # every `.png` in the code
    folds_case: bool = False
    fetches: bool = False  # it brings the data by itself
    clips: list[tuple[str, int, str, int]] = field(default_factory=list)  # name, frames, file, line


def speaks_of_data(name: str, value: str) -> bool:
    """Whether a setting of this name and value is about data that is read."""
    return bool(_DATA.search(f"{name} {value}")) and not _OUTPUT.search(f"{name} {value.rpartition('/')[2]}")


def is_pathlike(name: str) -> bool:
    return bool(re.search(r"dir|root|path|folder|data", name, re.IGNORECASE))


def is_clip(name: str) -> bool:
    return bool(_CLIP.match(name))


def spoken(bindings: Bindings, project: Project) -> Spoken:
    found = Spoken()
    for source in bindings.sources:
        file = project.shown(Path(source.path))
        found.handled |= {"gaps"} if asks_what_was_read(source.tree) else set()
        for node in source.within(source.tree):
            if isinstance(node, ast.Call):
                _note_call(found, bindings, source, file, node)
            for word in texts([node]):
                found.suffixes |= set(re.findall(r"\.[A-Za-z0-9]{2,5}\b", word))
            _note_clip(found, file, node)
            if isinstance(node, ast.expr) and _outermost(source, node):
                words = _around(source, node)
                pathlike = not isinstance(node, ast.Constant) or is_pathlike(words)
                found.mentions += [
                    Mention(
                        text=each.text,
                        whole=each.whole,
                        file=file,
                        line=node.lineno,
                        data=speaks_of_data(words, each.text),
                        pathlike=pathlike or "/" in each.text,
                    )
                    for each in bindings.texts(source, node)
                ]
    return found


def _outermost(source: Source, node: ast.expr) -> bool:
    """The longest expression that makes a path, and not its parts."""
    parent = source.parent(node)
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return isinstance(parent, (ast.Call, ast.keyword)) and node is not getattr(parent, "func", None)
    if not isinstance(node, (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Call)):
        return False
    if isinstance(parent, (ast.JoinedStr, ast.FormattedValue, ast.Expr)):
        return False
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Div, ast.Add)):
        return False
    return not (isinstance(parent, ast.Call) and node is not parent.func and last_name(parent) in _PATHS)


def _around(source: Source, node: ast.expr) -> str:
    """The names beside an expression: the variable, the argument, the option, the function."""
    words: list[str] = []
    child: ast.AST = node
    for parent in islice(source.ancestors(node), 3):
        match parent:
            case ast.keyword(arg=str(name)):
                words.append(name)
            case ast.Call():
                words.append(last_name(parent))
                if last_name(parent) == "add_argument":
                    words += texts(parent.args)
            case ast.Assign(targets=targets):
                words += [name for target in targets for name in _names(target)]
            case ast.AnnAssign(target=target):
                words += _names(target)
            case ast.arguments():
                words += [arg.arg for arg, default in with_defaults(parent) if default is child]
            case ast.Dict(keys=keys, values=values):
                words += [
                    str(k.value)
                    for k, v in zip(keys, values, strict=True)
                    if v is child and isinstance(k, ast.Constant)
                ]
            case ast.stmt():
                break
        child = parent
    return " ".join(words)


def _names(target: ast.AST) -> list[str]:
    name = getattr(target, "id", "") or getattr(target, "attr", "")
    return [name] if name else []


def _note_call(found: Spoken, bindings: Bindings, source: Source, file: str, node: ast.Call) -> None:
    name, owner = last_name(node), receiver(node)
    found.fetches |= bool(_FETCHES.search(name))
    found.fetches |= constant(argument(node, "download")) is True
    found.folds_case |= name in {"lower", "casefold", "upper"}
    found.lists |= name in _LISTS
    found.handled |= {"size"} if _RESIZES.search(name) else set()
    found.handled |= {"type"} if name in _CONVERTS else set()
    found.handled |= {"gaps"} if name in _KNOWS_GAPS else set()
    if name in _MAKES or _WRITES.search(name) or (name == "open" and opens_with(node, "wax")):
        for each in [*([owner] if owner else []), *node.args]:
            found.made |= {text.text for text in bindings.texts(source, each)}
    if name in _GLOBS and node.args:
        folders = {text.text for text in bindings.texts(source, owner)} if owner else set()
        for pattern in bindings.texts(source, node.args[0]):
            if "*" in pattern.text and pattern.whole:
                found.globs += [
                    (f"{folder}/{pattern.text}", file, node.lineno) for folder in folders or {"?"}
                ]


def _note_clip(found: Spoken, file: str, node: ast.AST) -> None:
    pairs: list[tuple[str, ast.expr]] = []
    match node:
        case ast.Assign(targets=[target]):
            pairs = [(name, node.value) for name in _names(target)]
        case ast.keyword(arg=str(name)):
            pairs = [(name, node.value)]
        case ast.arguments():
            pairs = [(parameter.arg, default) for parameter, default in with_defaults(node)]
    for name, value in pairs:
        frames = constant(value)
        if _CLIP.match(name) and isinstance(frames, int) and frames > 1:
            found.clips.append((name, frames, file, value.lineno))


def asks_what_was_read(tree: ast.Module) -> bool:
    """`np.nan_to_num(x)`, `torch.isfinite(x)` of what a file held; not `torch.isfinite(loss)`, and not `F.interpolate(image)`."""
    asked: list[tuple[str, ast.Call]] = []
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        function, node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = node.name
        if isinstance(node, ast.Call) and last_name(node) in _ASKS_NUMBERS:
            asked.append((function, node))
        pending += [(function, child) for child in ast.iter_child_nodes(node)]
    if not asked:
        return False
    read = _read(tree)
    for function, call in asked:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        package = dotted(owner).partition(".")[0] if owner is not None else ""
        about = [
            *call.args,
            *([owner] if owner is not None and package not in {"torch", "math", *_TABLES} else []),
        ]
        if last_name(call) == "interpolate":
            # Of a frame or a series, which takes no size; tensors have no such method.
            images = {"size", "scale_factor", "align_corners"} & {str(word.arg) for word in call.keywords}
            if owner is None or images or last_name(owner) in {"F", "functional"}:
                continue
            return True
        named = {name for each in about for name in _roots(each)}
        if named & read:
            return True
        of_the_run = any(_OF_THE_RUN.search(ast.unparse(each)) for each in about)
        reader = _READERS.match(function) and not _OF_THE_RUN.search(function)
        if not of_the_run and (package in _TABLES or reader):
            return True
    return False


def _read(tree: ast.Module) -> set[str]:
    """Names of what was read from files, and of what is made from it."""
    made = [
        ({name for target in bound for inner in ast.walk(target) for name in _names(inner)}, value)
        for bound, value in assigned(tree)
    ]
    read: set[str] = set()
    for _ in range(_STEPS):
        for targets, value in made:
            if any(calls(value, *_READS)) or (not _runs_a_model(value) and set(_roots(value)) & read):
                read |= {name for name in targets if not _OF_THE_RUN.search(name)}
    return read


def _runs_a_model(value: ast.expr) -> bool:
    return any(isinstance(c.func, ast.Name) and not _READERS.match(c.func.id) for c in calls(value))


def _roots(node: ast.AST) -> Iterator[str]:
    """Every name in an expression, without those of functions."""
    called = {id(call.func) for call in calls(node)}
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Name, ast.Attribute)) and id(inner) not in called:
            yield from _names(inner)
