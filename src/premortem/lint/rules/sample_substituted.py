import ast
import sys
from collections.abc import Iterator

from premortem.lint.handlers import (
    computed_by,
    computes,
    falls_to,
    gives_up,
    held_name,
    is_kept,
    logs,
    statements,
)
from premortem.lint.left_out import DATA, is_quiet, left_out
from premortem.lint.measured import by_numbers
from premortem.lint.missing import ASKS, made_up
from premortem.lint.names import LOCAL
from premortem.lint.patterns import pattern
from premortem.lint.provenance import callers
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import calls_in, is_layer, is_model, is_test, names_in
from premortem.lint.tree import Function, constant, dotted, is_broad, is_nothing, last_name, parts, receiver

_BLANK = frozenset("zeros ones full empty randn rand zeros_like new".split())
_MADE_OF = frozenset("fromarray from_numpy as_tensor tensor to_tensor".split())
_ENCODES = pattern(r"^(?:encode(?:_\w+)?|(?:get|extract|compute)_\w*(?:embedding|feature)s?|embed)$")
_SHOWS = frozenset("imshow show print plot".split())
# How code calls what it makes up itself.
_MADE_UP = pattern(r"(?:^|_)(?:dummy|fake|placeholder|made_up)(?:_|$)")
# What reads one sample from a file.
_READERS = frozenset(
    "PIL.Image.open cv2.imread cv2.VideoCapture torchaudio.load librosa.load librosa.core.load soundfile.read "
    "scipy.io.wavfile.read scipy.io.loadmat numpy.load nibabel.load imageio.imread imageio.v2.imread imageio.v3.imread "
    "skimage.io.imread tifffile.imread rasterio.open pydicom.dcmread SimpleITK.ReadImage decord.VideoReader "
    "torchvision.io.read_image torchvision.io.read_video torchvision.io.decode_image".split()
)
# Other bases of what a training reads by index.
_SEQUENCES = frozenset(
    ("keras.utils.Sequence", "tensorflow.keras.utils.Sequence", "tensorflow.keras.utils.PyDataset")
)
HOPS = 3  # calls from `__getitem__` to what reads the file


class SampleSubstituted(Rule):
    """A sample that cannot be read, or what a model should make of it, is replaced or left out, and nothing counts how often.

    ## Why it matters
    If the path is wrong or half of the files are damaged, training goes on with the few that can be read, or with
    black images that carry real labels. An embedding of zeros in the place of one that failed is trained on as well.
    Nothing in the log shows it.

    ## Usual causes
    - one broken file stopped a long run, so everything was caught
    - `if os.path.exists(path): ... else: zeros`, which hides a wrong folder

    ## What to do
    Check the files once before training, or count what was replaced and stop above a small share.

    ## When it stays silent
    When the handler raises on some path, reads the same sample in another way, or gives None to the collate function. A mask or a
    label that has no file may say that there is nothing to see. Files that do not use torch count in a project that does.
    """

    card = Card("PM507", "sample-substituted", "data-empty", Severity.WARNING)
    triggers = (b"except", b"__getitem__")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        yield from self._left_out(source, project)
        yield from self._missing(source)
        for block in source.tries:
            function = source.function(block)
            yield from self._unfinished(source, block, function)
            handlers = [
                one
                for one in block.handlers
                if is_broad(one)
                and not gives_up(source, one)
                and (_gives(source, one) or falls_to(source, block, one) is not None)
            ]
            if function is None or not handlers:
                continue
            samples = (
                _is_dataset(source, function) and _gives_samples(source, function)
            ) or _reads_for_dataset(source, function)
            computed = set() if samples else _given_on(source, block, handlers)
            if not samples and not computed:
                continue
            known = samples or source.names.imports("torch")
            for handler in handlers:
                for one in self._substitutes(source, block, handler, function, None if samples else computed):
                    if known or project.learns:
                        yield one

    def _left_out(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        """Samples that are read or made one after the other, and a handler that says nothing of those it passes over."""
        found = {one for one, becomes in left_out(source) if becomes == DATA}
        for block in source.tries:
            quiet = [one for one in block.handlers if is_broad(one) and is_quiet(one, logs=False)]
            if not quiet or not source.loops_around(block) or is_test(source, block):
                continue
            if not (_reads_and_keeps(source, block) or quiet[0] in found):
                continue
            if source.names.imports("torch") or project.learns:
                yield self.report(
                    source,
                    quiet[0],
                    "a sample that cannot be read or made is left out, without a log message",
                    remedy="Count what is left out and stop above a small share, or check the files beforehand.",
                )

    def _unfinished(self, source: Source, block: ast.Try, function: Function | None) -> Iterator[Diagnostic]:
        """`noisy = mixed(noisy, noise)` of a dataset, and a handler that passes: the sample goes on as it was."""
        quiet = [
            one
            for one in block.handlers
            if is_broad(one) and all(isinstance(line, ast.Pass) for line in one.body)
        ]
        if function is None or not quiet or b"__getitem__" not in source.data or is_test(source, block):
            return
        if not (_is_dataset(source, function) and _gives_samples(source, function)):
            return
        changed = {
            dotted(target)
            for statement in block.body
            if isinstance(statement, ast.Assign) and computes(source, statement.value)
            for target in statement.targets
        }
        flow = source.flow(function)
        for returned in source.returns(function):
            if returned.value is not None and flow.reaches(quiet[0], returned):
                made = {
                    name
                    for one in _names_of(source, returned.value)
                    for name in (one.id, *(_made_of(source, one)))
                }
                if changed & made:
                    yield self.report(
                        source,
                        quiet[0],
                        "what fails here is left out of the sample, without a log message",
                        remedy="Let it fail, or count how often it happens and stop above a small share.",
                    )
                    return

    def _missing(self, source: Source) -> Iterator[Diagnostic]:
        """A file that is not there, or that was read as None, and an empty sample in its place."""
        asked = source.tries or not source.calls.keys().isdisjoint(("imread", *ASKS))
        for function in source.functions if asked and b"def __getitem__" in source.data else ():
            if is_test(source, function):
                continue
            if (_is_dataset(source, function) and _gives_samples(source, function)) or _reads_for_dataset(
                source, function
            ):
                for statement in made_up(source, function, _is_blank):
                    yield self.report(
                        source,
                        statement,
                        "a sample whose file is missing or cannot be read is replaced by an empty one",
                        remedy="Let it fail, or leave such samples out when the files are listed, and count them.",
                    )

    def _substitutes(
        self,
        source: Source,
        block: ast.Try,
        handler: ast.ExceptHandler,
        function: Function,
        computed: set[str] | None,
    ) -> Iterator[Diagnostic]:
        """`computed`: what the `try` computes or reads; None where all it gives are samples of a dataset."""
        samples = computed is None
        index = function.args.args[1].arg if len(function.args.args) > 1 else ""
        bound = {
            node.id
            for statement in block.body
            for node in source.within(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        logged = logs(source, handler)
        fallen = falls_to(source, block, handler)
        for statement in (*statements(source, handler), *([fallen] if fallen is not None else [])):
            value = getattr(statement, "value", None)
            if isinstance(statement, ast.Expr) and _appends(source, block, statement):
                value = statement.value.args[0]  # type: ignore[attr-defined]
            elif not isinstance(statement, (ast.Return, ast.Assign)) or value is None:
                continue
            if computed is not None and not _stands_for(source, statement, computed):
                continue
            if isinstance(statement, ast.Assign) and _makes_blanks(source, block, statement):
                continue
            if samples and _takes_another(source, block, statement, index):
                what, blank = "another sample", False
            elif _is_blank(source, value) and (
                not isinstance(statement, ast.Assign)
                or any(
                    isinstance(part, ast.Name) and part.id in bound
                    for one in statement.targets
                    for part in parts(one)
                )
            ):
                what, blank = "an empty one", True
            else:
                continue
            yield self.report(
                source,
                statement,
                (
                    f"a sample that fails is replaced by {what}"
                    if samples
                    else "what fails here is replaced by made-up values"
                )
                + ("" if logged else ", without a log message"),
                remedy="Count the replacements and stop above a small share, or check the files beforehand.",
                # A replacement that is logged was decided on.
                severity=Severity.INFO if logged and not blank else None,
            )
            return


def _names_of(source: Source, value: ast.expr) -> list[ast.Name]:
    return [one for one in (value, *source.within(value)) if isinstance(one, ast.Name)]


def _made_of(source: Source, use: ast.Name) -> set[str]:
    """The names that a value is computed from, one step back."""
    return {name for one in source.assigned_at(use) for name in names_in(source, one)}


def _gives(source: Source, handler: ast.ExceptHandler) -> bool:
    """Whether a handler gives anything in the place of what failed: asked first, because most only log."""
    return any(
        (isinstance(one, (ast.Return, ast.Assign)) and one.value is not None and not is_nothing(one.value))
        or (isinstance(one, ast.Expr) and is_kept(one.value))
        for one in statements(source, handler)
    )


def _reads_and_keeps(source: Source, block: ast.Try) -> bool:
    """Whether a `try` reads a sample from a file and puts what it makes of it into a list or a table."""
    made: set[str] = set()
    for statement in block.body:
        for node in (statement, *source.within(statement, nested=False)):
            if isinstance(node, ast.Assign):
                if _reads(source, node.value) or names_in(source, node.value) & made:
                    kept = [part for target in node.targets for part in parts(target)]
                    if any(isinstance(one, ast.Subscript) for one in kept):
                        return True
                    made |= {one.id for one in kept if isinstance(one, ast.Name)}
            elif isinstance(node, ast.Call) and last_name(node) == "append" and len(node.args) == 1:
                if _reads(source, node.args[0]) or names_in(source, node.args[0]) & made:
                    return True
    return False


def _reads(source: Source, value: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Call) and source.names.all_in(node.func, _READERS)
        for node in (value, *source.within(value))
    )


def _given_on(source: Source, block: ast.Try, handlers: list[ast.ExceptHandler]) -> set[str]:
    """The names under which the `try` gives on samples that it reads or computes; "return", "x.append".

    Where a handler says itself that it makes something up, whatever the `try` computes counts.
    """
    admitted = any(
        isinstance(node, ast.Call) and _MADE_UP.search(last_name(node))
        for handler in handlers
        for node in source.within(handler)
    )
    if admitted:
        return computed_by(source, block)
    return computed_by(source, block, _makes_samples) | computed_by(source, block, by_numbers)


def _is_foreign(names: frozenset[str]) -> bool:
    """Whether a function of a package is called that is not Python's own and not numpy: it reads, or computes, a sample."""
    return bool(names) and all(
        name.partition(".")[0] not in (LOCAL, "numpy", *sys.stdlib_module_names) and "." in name
        for name in names
    )


def _makes_samples(source: Source, value: ast.expr, depth: int = HOPS) -> bool:
    """Whether a sample is computed or read here, or in a function of this file that is called, and not only looked up."""
    for node in (value, *source.within(value)):
        if not isinstance(node, ast.Call) or not (node.args or node.keywords):
            continue
        names = source.names.of(node.func)
        if last_name(node) not in _BLANK and (
            is_model(source, dotted(node.func))
            or _ENCODES.search(last_name(node))
            or source.names.all_in(node.func, _READERS)
            or _is_foreign(names)
            or is_layer(source, node)
        ):
            return True
        helper = source.callee(node) if depth else None
        if helper is not None and any(
            _makes_samples(source, made, depth - 1)
            for one in source.returns(helper)
            if one.value is not None
            for made in source.flow(helper).origins(one.value)
        ):
            return True
    return False


def _stands_for(source: Source, statement: ast.stmt, computed: set[str]) -> bool:
    """Whether what a handler gives takes the place of something that the `try` computes, and is not only shown."""
    if isinstance(statement, ast.Return):
        return "return" in computed
    if isinstance(statement, ast.Assign):
        held = {held_name(part) for target in statement.targets for part in parts(target)} & computed
        shown = calls_in(source, source.scope(statement), *_SHOWS)
        return bool(held - {one for call in shown for one in names_in(source, call)})
    kept = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(kept, ast.Call) and f"{held_name(receiver(kept) or kept.func)}.append" in computed


def _appends(source: Source, block: ast.Try, statement: ast.Expr) -> bool:
    """`frames.append(blank)` where the `try` appends what it has read to the same list."""
    call = statement.value
    return (
        isinstance(call, ast.Call)
        and last_name(call) == "append"
        and len(call.args) == 1
        and any(
            isinstance(node, ast.Call) and dotted(node.func) == dotted(call.func)
            for one in block.body
            for node in source.within(one, nested=False)
        )
    )


def _takes_another(source: Source, block: ast.Try, statement: ast.stmt, index: str) -> bool:
    """`return self[0]`, `index = other`, and the call of the `try` again with something else than the index."""
    if isinstance(statement, ast.Return):
        return statement.value is not None and _another(statement.value, index)
    if not isinstance(statement, ast.Assign):
        return False
    if any(isinstance(one, ast.Name) and one.id == index for one in statement.targets):
        return True
    value = statement.value
    if not isinstance(value, ast.Call) or not value.args or _uses(source, value, index):
        return False
    return any(
        isinstance(node, ast.Call)
        and dotted(node.func) == dotted(value.func) != ""
        and any(_uses(source, one, index) for one in node.args)
        for one in block.body
        for node in source.within(one)
    )


def _makes_blanks(source: Source, block: ast.Try, statement: ast.Assign) -> bool:
    """Whether the `try` binds the same name to something empty too: both make room, and no sample is lost."""
    names = {dotted(one) for one in statement.targets} - {""}
    tried = [
        node.value
        for one in block.body
        for node in (one, *source.within(one, nested=False))
        if isinstance(node, ast.Assign) and names & {dotted(target) for target in node.targets}
    ]
    return bool(tried) and all(_is_blank(source, one) for one in tried)


def _uses(source: Source, node: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in (node, *source.within(node)))


def _is_dataset(source: Source, function: Function) -> bool:
    owner = source.class_of(function)
    if owner is None:
        return False
    names = [owner.name, *(last_name(base) for base in owner.bases)]
    if any("dataset" in name.lower() for name in names):
        return True
    return any(source.names.any_in(base, _SEQUENCES) for base in owner.bases)


def _reads_for_dataset(source: Source, function: Function) -> bool:
    """A function of this file that a dataset's `__getitem__`, or a method it calls, gets its samples from."""
    if source.class_of(function) is not None:
        return False
    for call in callers(source, function):
        around = source.function(call)
        if around is not None and _is_dataset(source, around) and _gives_samples(source, around):
            return True
    return False


def _gives_samples(source: Source, function: Function) -> bool:
    """`__getitem__`, or a method that it calls, directly or through another."""
    owner = source.class_of(function)
    reached, names = {"__getitem__"}, {"__getitem__"}
    for _hop in range(HOPS if owner is not None and function.name != "__getitem__" else 0):
        names = {
            last_name(call)
            for one in (source.method(owner, name) for name in names if owner is not None)
            if one is not None
            for call in source.within(one)
            if isinstance(call, ast.Call) and dotted(receiver(call)) == "self"
        } - reached
        reached |= names
    return function.name in reached


def _another(value: ast.expr, index: str) -> bool:
    """`self[other]` or `self.__getitem__(other)`, with another index than the one that failed."""
    if isinstance(value, ast.Call) and last_name(value) == "__getitem__" and value.args:
        inner = receiver(value)
        other: ast.expr = value.args[0]
    elif isinstance(value, ast.Subscript):
        inner, other = value.value, value.slice
    else:
        return False
    same = isinstance(other, ast.Name) and other.id == index
    return isinstance(inner, ast.Name) and inner.id == "self" and not same


def _is_blank(source: Source, value: ast.expr, depth: int = 4) -> bool:
    """`torch.zeros(3, 64, 64)`, `Image.new(...)`, `np.ones(shape) * 128`, and tuples, dicts and helpers that give one."""
    if depth == 0:
        return False
    if isinstance(value, ast.Name):
        made = source.flow(source.scope(value)).origins(value)
        return bool(made) and all(one is not value and _is_blank(source, one, depth - 1) for one in made)
    if isinstance(value, (ast.Tuple, ast.Dict)):
        parts = value.elts if isinstance(value, ast.Tuple) else value.values
        return any(_is_blank(source, one, depth - 1) for one in parts)
    if isinstance(value, ast.BinOp) and isinstance(value.left, ast.List):
        # `[0.0] * 13`: a row of features that is made up.
        number = value.left.elts[0] if len(value.left.elts) == 1 else None
        return isinstance(value.op, ast.Mult) and isinstance(constant(number), (int, float))
    if isinstance(value, ast.BinOp):
        return _is_blank(source, value.left, depth - 1) and isinstance(value.right, ast.Constant)
    if not isinstance(value, ast.Call):
        return False
    if last_name(value) in _BLANK:
        return isinstance(value.func, ast.Attribute)
    if _MADE_UP.search(last_name(value)):
        return True
    if last_name(value) in {"stack", "cat"} and value.args:
        return _holds_blanks(source, value.args[0], depth - 1)
    if last_name(value) in _MADE_OF and value.args:
        return _is_blank(source, value.args[0], depth - 1)
    helper = source.callee(value)
    if helper is not None:
        returned = [one.value for one in source.within(helper, nested=False) if isinstance(one, ast.Return)]
        flow = source.flow(helper)
        return bool(returned) and all(
            one is not None and any(_is_blank(source, made, depth - 1) for made in flow.origins(one))
            for one in returned
        )
    inner = receiver(value)
    return inner is not None and _is_blank(source, inner, depth - 1)


def _holds_blanks(source: Source, held: ast.expr, depth: int) -> bool:
    """A list to which the handler around it has appended blanks only."""
    handler = next((one for one in source.ancestors(held) if isinstance(one, ast.ExceptHandler)), None)
    added = [
        node.args[0]
        for node in (source.within(handler) if handler is not None else ())
        if isinstance(node, ast.Call) and node.args and dotted(node.func) == f"{dotted(held)}.append"
    ]
    return bool(added) and all(_is_blank(source, one, depth) for one in added)
