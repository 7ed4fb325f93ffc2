import ast
from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.provenance import values
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import is_test
from premortem.lint.tree import argument, constant, dotted, last_name, receiver
from premortem.lint.words_used import mentions

WIPED = ("/tmp/", "/var/tmp/", "/dev/shm/", "/kaggle/temp/", "/content/")  # noqa: S108 - looked for, not used
KEPT = ("/content/drive/", "/content/gdrive/", "/content/mnt/")
# Words of a file that takes its results elsewhere, or throws them away on purpose.
TAKEN = pattern(
    r"^shutil$|^replace\(|^rename\(|upload|^wandb$|[Aa]rtifact|log_model|push_to_hub|^download\(|gsutil|boto3"
    r"|rsync|^copy\(|^mount\(|TemporaryDirectory|NamedTemporaryFile|make_archive|zipfile|FileLink"
)
TRAINS = (b".backward(", b".fit(", b"Trainer(")
# Which argument of a call is the place where checkpoints go: (keyword, position).
SAVES = {
    "torch.save": ("f", 1),
    "transformers.TrainingArguments": ("output_dir", 0),
    "transformers.Seq2SeqTrainingArguments": ("output_dir", 0),
    "lightning.pytorch.callbacks.ModelCheckpoint": ("dirpath", 0),
    "pytorch_lightning.callbacks.ModelCheckpoint": ("dirpath", 0),
}


class EphemeralOutputPath(Rule):
    """The only checkpoints of a training run go to a place that is wiped.

    ## Why it matters
    `/tmp`, `/dev/shm`, Kaggle's `/kaggle/temp` and Colab's `/content` are empty after the machine or the session
    ends. The hours of training that led to the best model end with them.

    ## Usual causes
    - the path was typed for a quick test
    - the notebook moved to another service, whose lasting folder is another one

    ## What to do
    Save under `/kaggle/working`, a mounted drive or a folder of the project, or copy the best checkpoint there as
    soon as it is written.

    ## When it stays silent
    When some checkpoint of the file goes elsewhere or to a path that is an option, when the file copies or uploads
    what it saved or keeps it in a temporary folder on purpose, when a notebook runs a command afterwards, in tests.
    """

    card = Card("PM544", "ephemeral-output-path", "persistence", Severity.WARNING)

    def wants(self, data: bytes) -> bool:
        places = (b"/tmp", b"/dev/shm", b"/kaggle/temp", b"/content", b"mkdtemp", b"gettempdir")
        return any(place in data for place in places) and any(word in data for word in TRAINS)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if mentions(source, source.tree, TAKEN, given=True):
            return
        found: list[tuple[ast.Call, str]] = []
        for call in source.calls_to(
            "save", "TrainingArguments", "Seq2SeqTrainingArguments", "ModelCheckpoint"
        ):
            where = [SAVES[name] for name in source.names.of(call.func) if name in SAVES]
            if not where:
                continue
            path = argument(call, *where[0])
            place = _begin(source, path) if path is not None else ""
            if not _is_wiped(place) or is_test(source, call):
                return  # some checkpoint can go to a lasting place
            found.append((call, place))
        if any(_command_follows(source, call) for call, _place in found):
            return
        for call, place in found:
            yield self.report(
                source,
                call,
                f"the checkpoints of this run are saved only under `{place}`, which is wiped when the session ends",
                remedy="Save to a lasting folder, or copy the file there right after saving.",
            )


def _command_follows(source: Source, call: ast.Call) -> bool:
    """Whether a notebook runs a shell command or magic later on: `!cp` takes files away. It stands as `0` here."""
    return bool(source.cells) and any(
        constant(one.value) == 0 and one.lineno > call.lineno for one in source.expressions
    )


def _is_wiped(path: str) -> bool:
    path = path if path.endswith("/") else path + "/"
    return path.startswith(WIPED) and not path.startswith(KEPT)


def _begin(source: Source, expr: ast.expr, depth: int = 16) -> str:
    """The constant text a path begins with; "" when it is not known."""
    if depth == 0:
        return ""
    if isinstance(expr, ast.Constant):
        return expr.value if isinstance(expr.value, str) else ""
    if isinstance(expr, ast.JoinedStr) and expr.values:
        first = expr.values[0]
        inner = first.value if isinstance(first, ast.FormattedValue) else first
        return _begin(source, inner, depth - 1)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Add, ast.Div, ast.Mod)):
        return _begin(source, expr.left, depth - 1)
    if isinstance(expr, ast.Call):
        name = last_name(expr)
        if name in {"mkdtemp", "gettempdir"} and not expr.args and not expr.keywords:
            return "/tmp/"  # noqa: S108 - where it leads
        if name == "join" or name in {"Path", "str", "fspath"}:
            return _begin(source, expr.args[0], depth - 1) if expr.args else ""
        owner = receiver(expr)
        return _begin(source, owner, depth - 1) if name == "format" and owner is not None else ""
    if (held := _held(source, expr)) is not None:
        return _begin(source, held, depth - 1)
    made = values(source, expr)
    begins = {_begin(source, one, depth - 1) for one in made if one is not expr} if made else {""}
    return begins.pop() if len(begins) == 1 else ""


def _held(source: Source, expr: ast.expr) -> ast.expr | None:
    """The value of `CONFIG["out"]` and of `Config.out`, where this file writes them down."""
    if isinstance(expr, ast.Subscript) and dotted(expr.value):
        key = constant(expr.slice)
        tables = values(source, expr.value) or []
        if len(tables) == 1 and isinstance(tables[0], ast.Dict):
            for name, value in zip(tables[0].keys, tables[0].values, strict=True):
                if name is not None and key is not None and constant(name) == key:
                    return value
    if isinstance(expr, ast.Attribute) and isinstance(expr.value, ast.Name) and expr.value.id != "self":
        made = values(source, expr.value) or []
        names = {expr.value.id, *(last_name(one) for one in made if isinstance(one, ast.Call))}
        for cls in source.classes:
            for statement in cls.body if cls.name in names else ():
                if isinstance(statement, ast.Assign) and dotted(statement.targets[0]) == expr.attr:
                    return statement.value
                if isinstance(statement, ast.AnnAssign) and dotted(statement.target) == expr.attr:
                    return statement.value
    return None
