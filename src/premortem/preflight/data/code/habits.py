"""What the code does with the data that it reads: which column it predicts, whether it reads by place, which lists number its classes."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from premortem.files.syntax import dotted, last_name

# A name that is given to what is predicted. Not `output`, which is as often what a model says.
_TARGET = re.compile(r"(^|_)(y|labels?|targets?|outcomes?|answers?|truth|gold)($|_)", re.IGNORECASE)
_LEFT_OUT = re.compile(r"drop|skip|ignore|exclude|unused|remove|meta|leak", re.IGNORECASE)
_LAST = "-1"
_WRITES = frozenset(
    "save savez savez_compressed savetxt savefig to_csv to_parquet to_json to_pickle to_hdf imwrite write_text write_bytes dump".split()
)
_BY_NAME = frozenset({"DictReader", "reindex", "concat", "read_json", "read_parquet"})
_HEADER = re.compile(r"head|col|field|names|feature", re.IGNORECASE)
_NUMBERS = frozenset({"loadtxt", "genfromtxt"})
_MATRIX = frozenset({"values", "to_numpy", "iloc"})
_FRAMES = frozenset({"read_csv", "read_table"})
_TRUTH = (ast.If, ast.IfExp, ast.While, ast.Assert)


def targets(tree: ast.AST) -> Iterator[str]:
    """The columns that the code predicts: `y = frame["late"]`, `TARGET = "late"`, `fit(target="late")`, `--label late`; "-1" for the
    last one, `y = table[:, -1]`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _taken(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from _taken(node.target, node.value)
        elif isinstance(node, ast.keyword) and node.arg and _TARGET.search(node.arg):
            yield from _columns(node.value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and _TARGET.search(key.value):
                    yield from _columns(value)
        elif isinstance(node, ast.Call) and last_name(node) == "add_argument":
            named = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if any(_TARGET.search(name.replace("-", "_")) for name in named):
                given = next((word.value for word in node.keywords if word.arg == "default"), None)
                yield from _columns(given) if given is not None else ()
        elif (
            isinstance(node, ast.Call)
            and last_name(node) == "append"
            and isinstance(node.func, ast.Attribute)
        ):
            if _TARGET.search(last_name(node.func.value)):  # labels.append(row["late"])
                for given in node.args:
                    yield from _columns(given)


def is_target(name: str) -> bool:
    return bool(_TARGET.search(name))


def later(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """`frame["y"] = frame["load"].shift(-24)`: what is called so, the column that it is taken from, and how many rows later."""
    nodes = list(ast.walk(tree))
    numbers = {
        last_name(target): node.value.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if type(node.value.value) is int
    }
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        for call in (each for each in ast.walk(node.value) if isinstance(each, ast.Call)):
            given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "periods")]
            if last_name(call) != "shift" or not isinstance(call.func, ast.Attribute) or not given:
                continue
            by = given[0]
            if not isinstance(by, ast.UnaryOp) or not isinstance(by.op, ast.USub):
                continue
            rows = (
                by.operand.value
                if isinstance(by.operand, ast.Constant)
                else numbers.get(last_name(by.operand))
            )
            of = call.func.value
            if (
                type(rows) is not int
                or rows < 1
                or call is not node.value
                or not isinstance(of, ast.Subscript)
            ):
                continue
            for target in node.targets:
                name = last_name(target)
                if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                    name = str(target.slice.value)
                for column in _columns(of):
                    yield name, column, rows


def lists_of_columns(tree: ast.AST) -> Iterator[tuple[str, ...]]:
    """Lists of texts under a name that is neither that of a target nor of what is left out."""
    left_out = set(dropped(tree))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, (ast.List, ast.Tuple)):
            called = [last_name(t) for t in (node.targets if isinstance(node, ast.Assign) else [node.target])]
            words = [
                e.value for e in node.value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)
            ]
            if len(words) >= 2 and not any(map(is_target, called)) and not left_out & set(words):
                yield tuple(words)


def dropped(tree: ast.AST) -> Iterator[str]:
    """The texts in `frame.drop(columns=["a", "b"])`, `frame.pop("a")`, `del frame["a"]` and `DROP = ["a", "b"]`."""
    for node in ast.walk(tree):
        inside: list[ast.AST] = []
        if isinstance(node, ast.Call) and last_name(node) in {"drop", "drop_columns", "pop"}:
            inside = [*node.args, *node.keywords]
        elif isinstance(node, ast.Delete):
            inside = list(node.targets)
        elif isinstance(node, ast.Assign) and any(_LEFT_OUT.search(last_name(t)) for t in node.targets):
            inside = [node.value]
        for each in inside:
            for text in ast.walk(each):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.value


def _taken(target: ast.expr, value: ast.expr) -> Iterator[str]:
    if isinstance(target, (ast.Tuple, ast.List)):
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            for each, given in zip(target.elts, value.elts, strict=True):
                yield from _taken(each, given)
    elif _TARGET.search(last_name(target)):
        yield from _columns(value)


def _columns(value: ast.expr) -> Iterator[str]:
    """The texts by which the value is chosen, or is one itself."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
        return
    for node in ast.walk(value):
        if isinstance(node, ast.Subscript):
            last = (
                node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
            )
            if isinstance(last, ast.Constant) and isinstance(last.value, str):
                yield last.value
            elif ast.unparse(last) == _LAST:
                yield _LAST
        elif isinstance(node, ast.Call) and last_name(node) in {"pop", "get"} and node.args:
            if isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                yield node.args[0].value


def only_written(trees: Iterable[ast.AST]) -> frozenset[str]:
    """Texts that stand in the code only where it writes a file: `np.save("predictions.npy", made)`."""
    every: Counter[str] = Counter()
    written: Counter[str] = Counter()
    for tree in trees:
        made = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _writes(node)]
        inside = {id(inner) for call in made for inner in ast.walk(call)}
        loaded = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        # OUT = "predictions.npy", where OUT stands only in such calls.
        out = {n.id for n in loaded if id(n) in inside} - {n.id for n in loaded if id(n) not in inside}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and {getattr(t, "id", None) for t in node.targets} <= out:
                inside |= {id(inner) for inner in ast.walk(node.value)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                every[node.value] += 1
                written[node.value] += id(node) in inside
    return frozenset(text for text, number in written.items() if number == every[text])


def _writes(call: ast.Call) -> bool:
    name = last_name(call)
    if name == "open":
        modes = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
        return any(isinstance(mode, ast.Constant) and set(str(mode.value)) & set("wx") for mode in modes)
    return name in _WRITES


def lists_of_words(tree: ast.AST) -> Iterator[tuple[str, ...]]:
    """`STATES = ["run", "slow", "jam"]`, and `{"run": 0, "slow": 1}` in the order of its numbers: lists with a name, by whose places or
    numbers the code turns words into numbers, or back."""
    numbering = set(_numbering(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            bound, value = [last_name(target) for target in node.targets], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            bound, value = [last_name(node.target)], node.value
        else:
            continue
        if not set(bound) & numbering:
            continue
        if isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) >= 2:
            words = [e.value for e in value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
            if len(words) == len(value.elts) == len(set(words)):
                yield tuple(words)
        elif isinstance(value, ast.Dict) and len(value.keys) >= 2:
            pairs = [
                (v.value, k.value)
                for k, v in zip(value.keys, value.values, strict=True)
                if isinstance(k, ast.Constant) and isinstance(v, ast.Constant) and isinstance(k.value, str)
            ]
            numbers = sorted(n for n, _ in pairs if type(n) is int)
            if len(pairs) == len(value.keys) and numbers == list(range(len(pairs))):
                yield tuple(name for _, name in sorted(pairs))


def _numbering(tree: ast.AST) -> Iterator[str]:
    """Names that are looked up, or gone through with numbers: `STATES.index(word)`, `STATES[code]`, `enumerate(STATES)`, `.map(CODES)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            yield last_name(node.value)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in {"index", "get", "items"}:
                yield last_name(node.func.value)
            elif last_name(node) in {"enumerate", "map", "replace", "zip", "Categorical", "CategoricalDtype"}:
                yield from (last_name(word) for word in [*node.args, *(k.value for k in node.keywords)])


def latest(tree: ast.AST) -> Iterator[str]:
    """The patterns in `sorted(glob("ckpt_*.pt"))[-1]` and `max(folder.glob("ckpt_*.pt"))`, without a key that knows numbers; also
    where the sorted list has a name first, and is used for nothing else: of folds the last is as good as any."""
    named: dict[str, ast.expr] = {}
    taken: list[ast.expr] = []
    uses: Counter[str] = Counter()
    allowed: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            uses[node.id] += 1
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named[node.targets[0].id] = node.value
        elif isinstance(node, ast.Subscript) and ast.unparse(node.slice) == _LAST:
            taken.append(node.value)
            allowed[getattr(node.value, "id", "")] += 1
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "max" and not node.keywords:
            taken += [ast.Call(func=ast.Name(id="sorted"), args=node.args[:1], keywords=[])]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"len", "print", "bool"}:
            allowed.update(getattr(each, "id", "") for each in node.args)
        if isinstance(node, _TRUTH):
            test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
            allowed[getattr(test, "id", "")] += 1
    for each in taken:
        value = each
        if isinstance(each, ast.Name):
            if uses[each.id] > allowed[each.id]:
                continue
            value = named.get(each.id, each)
        if (
            isinstance(value, ast.Call)
            and getattr(value.func, "id", "") == "sorted"
            and not any(word.arg == "key" for word in value.keywords)
        ):
            for inner in ast.walk(value):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and "*" in inner.value:
                    yield inner.value.rpartition("/")[2]


def guesses_types(trees: Iterable[ast.AST]) -> bool:
    """pandas reads text files, and is never given the types of their columns."""
    calls = [
        n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Call) and last_name(n) in _FRAMES
    ]
    return bool(calls) and not any(
        word.arg in {"dtype", "converters"} for call in calls for word in call.keywords
    )


def by_place(trees: Iterable[ast.AST]) -> bool:
    """The code reads tables by the place of their columns (`csv.reader`, `loadtxt`, `read_csv(path).values`) and none by their names."""
    found = False
    for tree in trees:
        frames = {
            last_name(target)
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and any(_is_read(inner) for inner in ast.walk(node.value))
            for target in node.targets
        }
        csvs = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "csv"
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = last_name(node)
                if name in _BY_NAME or (name == "index" and _HEADER.search(ast.unparse(node.func))):
                    return False
                if name == "dict" and any(
                    isinstance(a, ast.Call) and last_name(a) == "zip" for a in node.args
                ):
                    return False
                if name in _NUMBERS:
                    if any(word.arg in {"names", "usecols"} for word in node.keywords):
                        return False
                    found = True
                found |= name == "reader" and (dotted(node.func) == "csv.reader" or name in csvs)
                found |= name == "split" and [ast.unparse(a) for a in node.args[:1]] == ["','"]
                if name in _FRAMES and any(word.arg in {"usecols", "names"} for word in node.keywords):
                    return False
            elif isinstance(node, ast.Subscript) and _is_frame(node.value, frames):
                if not isinstance(node.slice, (ast.Constant, ast.Slice)):
                    return False  # frame[names]
            elif isinstance(node, ast.Attribute) and node.attr in {"loc", "filter", "get"}:
                if _is_frame(node.value, frames):
                    return False
            elif isinstance(node, ast.Attribute) and node.attr in _MATRIX and _is_frame(node.value, frames):
                found = True
    return found


def _is_read(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node) in _FRAMES


def _is_frame(node: ast.expr, frames: set[str]) -> bool:
    """A table that was read, also one without some of its columns or rows: `frame`, `read_csv(path)`, `frame.drop(...)`."""
    while isinstance(node, ast.Call) and not _is_read(node) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return _is_read(node) or (isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) in frames)


def every_other(tree: ast.AST) -> bool:
    """`x[::2]`, `row % 2`, `x.reshape(-1, 2)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Slice) and is_two(node.step):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and is_two(node.right):
            return True
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in {"reshape", "view"}:
            if any(is_two(each) for given in node.args for each in (given, *getattr(given, "elts", ()))):
                return True
    return False


def is_two(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == 2
