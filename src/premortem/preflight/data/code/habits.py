"""What the code does with the data that it reads: which column it predicts, whether it reads by place, which lists number its classes."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from premortem.files.syntax import dotted, last_name
from premortem.lint.tree import argument, constant, receiver
from premortem.preflight.data.code.syntax import assigned, calls, names, opens_with, text, texts

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
_LISTS_FILES = ("glob(", "iterdir(", "listdir(", "scandir(")
_SORTS = ("sort_values", "sort_index", "sort_by", "lexsort", "set_index")
_PERMUTES = ("randperm", "permutation", "train_test_split", "random_split", "RandomSampler")


def targets(tree: ast.AST) -> Iterator[str]:
    """The columns that the code predicts: `y = frame["late"]`, `TARGET = "late"`, `fit(target="late")`, `--label late`; "-1" for the
    last one, `y = table[:, -1]`."""
    for bound, value in assigned(tree):
        for target in bound:
            yield from _taken(target, value)
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and is_target(node.arg or ""):
            yield from _columns(node.value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if is_target(text(key) or ""):
                    yield from _columns(value)
    for call in calls(tree, "add_argument"):
        given = argument(call, "default")
        if given is not None and any(is_target(name.replace("-", "_")) for name in texts(call.args)):
            yield from _columns(given)
    for call in calls(tree, "append"):
        owner = receiver(call)
        if owner is not None and is_target(last_name(owner)):  # labels.append(row["late"])
            for given in call.args:
                yield from _columns(given)


def is_target(name: str) -> bool:
    return bool(_TARGET.search(name))


def later(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """`frame["y"] = frame["load"].shift(-24)`: what is called so, the column that it is taken from, and how many rows later."""
    numbers = {
        last_name(target): number
        for bound, value in assigned(tree)
        if type(number := constant(value)) is int
        for target in bound
    }
    for bound, value in assigned(tree):
        if not isinstance(value, ast.Call) or last_name(value) != "shift":
            continue
        by, of = argument(value, "periods", 0), receiver(value)
        if not (
            isinstance(by, ast.UnaryOp) and isinstance(by.op, ast.USub) and isinstance(of, ast.Subscript)
        ):
            continue
        known = isinstance(by.operand, ast.Constant)
        rows = constant(by.operand) if known else numbers.get(last_name(by.operand))
        if type(rows) is int and rows >= 1:
            for target in bound:
                name = last_name(target)
                if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                    name = str(target.slice.value)
                yield from ((name, column, rows) for column in _columns(of))


def lists_of_columns(tree: ast.AST) -> Iterator[tuple[str, ...]]:
    """Lists of texts under a name that is neither that of a target nor of what is left out."""
    left_out = set(dropped(tree))
    for bound, value in assigned(tree):
        listed = texts(value.elts) if isinstance(value, (ast.List, ast.Tuple)) else []
        if (
            len(listed) >= 2
            and not left_out & set(listed)
            and not any(is_target(last_name(t)) for t in bound)
        ):
            yield tuple(listed)


def dropped(tree: ast.AST) -> Iterator[str]:
    """The texts in `frame.drop(columns=["a", "b"])`, `frame.pop("a")`, `del frame["a"]` and `DROP = ["a", "b"]`."""
    inside: list[ast.AST] = []
    for call in calls(tree, "drop", "drop_columns", "pop"):
        inside += [*call.args, *call.keywords]
    for node in ast.walk(tree):
        inside += node.targets if isinstance(node, ast.Delete) else ()
    for bound, value in assigned(tree):
        inside += [value] if any(_LEFT_OUT.search(last_name(target)) for target in bound) else ()
    for each in inside:
        yield from texts(ast.walk(each))


def _taken(target: ast.expr, value: ast.expr) -> Iterator[str]:
    if isinstance(target, (ast.Tuple, ast.List)):
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            for each, given in zip(target.elts, value.elts, strict=True):
                yield from _taken(each, given)
    elif is_target(last_name(target)):
        yield from _columns(value)


def _columns(value: ast.expr) -> Iterator[str]:
    """The texts by which the value is chosen, or is one itself."""
    if (own := text(value)) is not None:
        yield own
        return
    for node in ast.walk(value):
        if isinstance(node, ast.Subscript):
            several = isinstance(node.slice, ast.Tuple) and node.slice.elts
            last = several[-1] if several else node.slice
            yield from texts([last]) or ([_LAST] if ast.unparse(last) == _LAST else [])
        elif isinstance(node, ast.Call) and last_name(node) in {"pop", "get"}:
            yield from texts(node.args[:1])


def only_written(trees: Iterable[ast.AST]) -> frozenset[str]:
    """Texts that stand in the code only where it writes a file: `np.save("predictions.npy", made)`."""
    every: Counter[str] = Counter()
    written: Counter[str] = Counter()
    for tree in trees:
        inside = {id(inner) for call in calls(tree) if _writes(call) for inner in ast.walk(call)}
        loaded = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        # OUT = "predictions.npy", where OUT stands only in such calls.
        out = {n.id for n in loaded if id(n) in inside} - {n.id for n in loaded if id(n) not in inside}
        for bound, value in assigned(tree):
            if {getattr(target, "id", None) for target in bound} <= out:
                inside |= {id(inner) for inner in ast.walk(value)}
        for node in ast.walk(tree):
            if (said := text(node)) is not None:
                every[said] += 1
                written[said] += id(node) in inside
    return frozenset(said for said, number in written.items() if number == every[said])


def _writes(call: ast.Call) -> bool:
    name = last_name(call)
    return opens_with(call, "wx") if name == "open" else name in _WRITES


def lists_of_words(tree: ast.AST) -> Iterator[tuple[str, ...]]:
    """`STATES = ["run", "slow", "jam"]`, and `{"run": 0, "slow": 1}` in the order of its numbers: lists with a name, by whose places or
    numbers the code turns words into numbers, or back."""
    numbering = set(_numbering(tree))
    for bound, value in assigned(tree):
        if not {last_name(target) for target in bound} & numbering:
            continue
        if isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) >= 2:
            words = texts(value.elts)
            if len(words) == len(value.elts) == len(set(words)):
                yield tuple(words)
        elif isinstance(value, ast.Dict) and len(value.keys) >= 2:
            pairs = [
                (v.value, word)
                for k, v in zip(value.keys, value.values, strict=True)
                if isinstance(v, ast.Constant) and (word := text(k)) is not None
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
            and not names(value, "key")
        ):
            yield from (said.rpartition("/")[2] for said in texts(ast.walk(value)) if "*" in said)


def guesses_types(trees: Iterable[ast.AST]) -> bool:
    """pandas reads text files, and is never given the types of their columns."""
    read = [call for tree in trees for call in calls(tree, *_FRAMES)]
    return bool(read) and not any(names(call, "dtype", "converters") for call in read)


def by_place(trees: Iterable[ast.AST]) -> bool:
    """The code reads tables by the place of their columns (`csv.reader`, `loadtxt`, `read_csv(path).values`) and none by their names."""
    found = False
    for tree in trees:
        frames = {
            last_name(target)
            for bound, value in assigned(tree)
            if any(map(_is_read, ast.walk(value)))
            for target in bound
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
                if name in _NUMBERS | _FRAMES and names(node, "names", "usecols"):
                    return False
                found |= name in _NUMBERS
                found |= name == "reader" and (dotted(node.func) == "csv.reader" or name in csvs)
                found |= name == "split" and [ast.unparse(a) for a in node.args[:1]] == ["','"]
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


def sorts_names(tree: ast.AST) -> bool:
    """`sorted(folder.glob("*"))`, without a key that knows numbers."""
    return any(
        isinstance(call.func, ast.Name)
        and not names(call, "key")
        and any(part in ast.unparse(call) for part in _LISTS_FILES)
        for call in calls(tree, "sorted")
    )


def sorts_rows(tree: ast.AST) -> bool:
    """`rows.sort_values("hour")`, `sorted(rows, key=...)`, `rows[np.argsort(hour)]`, `ORDER BY`."""
    inside = [node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    inside += [node.value for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    return (
        any(calls(tree, *_SORTS))
        or any(names(call, "key") for call in calls(tree, "sorted", "sort"))
        or any(isinstance(node, ast.Call) and last_name(node) == "argsort" for node in inside)
        or any("order by" in said.lower() for said in texts(ast.walk(tree)))
    )


def truths(tree: ast.AST) -> Iterator[str]:
    """`bool(row["smoker"])`, `1 if row["smoker"] else 0`."""
    for node in ast.walk(tree):
        asked: list[ast.expr] = []
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "bool":
            asked = node.args[:1]
        elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
            asked = [node.test]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            asked = [node.operand]
        for each in asked:
            if isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Constant):
                yield str(each.slice.value)


def drops_commas(tree: ast.AST) -> bool:
    """`cell.replace(",", "")`, or `thousands=","`, and nothing that turns a comma into a point."""
    return not turns_commas(tree) and _handles(tree, [",", ""], ("thousands", ","))


def turns_commas(tree: ast.AST) -> bool:
    """`cell.replace(",", ".")`, or `decimal=","`."""
    return _handles(tree, [",", "."], ("decimal", ","))


def drops_points(tree: ast.AST) -> bool:
    """`cell.replace(".", "")`, `re.sub("[.]", "", cell)`, `thousands="."`, or a reader that knows the locale."""
    return (
        _handles(tree, [".", ""], ("thousands", "."))
        or any(calls(tree, "atof", "atoi", "setlocale", "parse_decimal", "parse_number"))
        or any(texts(call.args[:2]) in ([r"\.", ""], ["[.]", ""]) for call in calls(tree, "sub"))
    )


def _handles(tree: ast.AST, replaced: list[str], said: tuple[str, str]) -> bool:
    """Whether the code replaces one text by another, or names this option with this value."""
    return any(texts(call.args[:2]) == replaced for call in calls(tree, "replace")) or any(
        (word.arg, text(word.value)) == said for call in calls(tree) for word in call.keywords
    )


def permutes(tree: ast.AST) -> bool:
    """`shuffle=True`, `randperm`, `train_test_split`: all samples are drawn in an order of chance."""
    return any(calls(tree, *_PERMUTES)) or any(
        word.arg == "shuffle" and not (isinstance(word.value, ast.Constant) and not word.value.value)
        for call in calls(tree)
        for word in call.keywords
    )


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
