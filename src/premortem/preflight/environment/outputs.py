"""Where a script saves its checkpoints, how many there will be, and what becomes of the place."""

import ast
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from premortem.findings import Where
from premortem.lint.source import Source
from premortem.lint.tree import argument, constant
from premortem.preflight.environment.machine_facts import Output, Saving
from premortem.preflight.options import Option
from premortem.preflight.reading import Reading
from premortem.preflight.values import ANY, Values
from premortem.vault import storage

# Which argument of a call is the place: (keyword, position), and whether it is a file.
_SAVES = {
    "torch.save": ("f", 1, True),
    "safetensors.torch.save_file": ("filename", 1, True),
    "safetensors.torch.save_model": ("filename", 1, True),
    "transformers.TrainingArguments": ("output_dir", 0, False),
    "transformers.Seq2SeqTrainingArguments": ("output_dir", 0, False),
    "lightning.pytorch.callbacks.ModelCheckpoint": ("dirpath", 0, False),
    "pytorch_lightning.callbacks.ModelCheckpoint": ("dirpath", 0, False),
}
_LAST = tuple({name.rpartition(".")[2] for name in _SAVES})
_OPTION = re.compile(r"(?:out|output|save|checkpoint|ckpt|result|work|run|exp)s?_?(?:dir|path|folder|root)")
# The results are taken elsewhere, so the place they are made in matters little.
_TAKEN = re.compile(
    rb"shutil\.(?:copy|move)|upload|wandb\.save|[Aa]rtifact|log_model|push_to_hub|boto3|rsync|drive\.mount"
)
_LISTED = 1000  # files of a folder that are looked at for their size


def outputs(reading: Reading, options: dict[str, Option], values: Values) -> list[Output]:
    """The folders that checkpoints go to, each once. None where the code does not say."""
    if any(_TAKEN.search(source.data) for source in reading.sources):
        return []
    places = [(text, where) for _source, _call, text, where in saves(reading, values)]
    if not places:
        chosen = [
            one for one in options.values() if _OPTION.fullmatch(one.name) and isinstance(one.value, str)
        ]
        places = [(f"{one.value}/{ANY}", Where(one.file, one.line)) for one in chosen]
    found: dict[Path, Output] = {}
    for text, where in places:
        folder = _folder(text)
        if folder is not None:
            path = reading.folder / folder
            found.setdefault(path, _judged(path, where))
    return list(found.values())


def saves(reading: Reading, values: Values) -> Iterator[tuple[Source, ast.Call, str, Where]]:
    """Every call that saves a checkpoint: the text of its place, `*` for what is not known; a folder ends in `/*`."""
    for source in reading.sources:
        for call in source.calls_to(*_LAST):
            known = [_SAVES[name] for name in source.names.of(call.func) if name in _SAVES]
            if not known:
                continue
            keyword, position, is_file = known[0]
            place = argument(call, keyword, position)
            text = values.text(source, place)
            yield source, call, text if is_file else f"{text}/{ANY}", Where(source.path, call.lineno)


def _folder(text: str) -> str | None:
    """The part of a path that is known for sure."""
    if text.startswith(ANY):
        return None
    known = text.partition(ANY)[0]
    return os.path.dirname(known)  # noqa: PTH120 - "ckpt/epoch_" is in "ckpt", and "" is here


def _judged(path: Path, where: Where) -> Output:
    judged = storage.judge(path)
    return Output(
        path=path,
        where=where,
        free=free(path),
        wiped=judged.kind if judged else "",
        certain=judged.certain if judged else False,
    )


def free(path: Path) -> int | None:
    """Bytes that this user may still write there; of a folder that does not exist, where it would be made."""
    for place in (path, *path.parents):
        try:
            return shutil.disk_usage(place).free
        except FileNotFoundError:
            continue
        except OSError:
            return None
    return None


def savings(reading: Reading, values: Values) -> list[Saving]:
    """The saves whose number and size are known before anything runs: others of the run before lie there."""
    found = []
    for source, call, text, where in saves(reading, values):
        if text.startswith(ANY) or not text.endswith(
            (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".tar")
        ):
            continue
        path = reading.folder / text
        sizes = _sizes(path)
        room = free(path.parent)
        times = _times(source, call, values) if ANY in path.name else 1
        if sizes and room is not None and times is not None:
            # What is there under these names is written over.
            left = max(times - len(sizes), 0)
            found.append(Saving(where=where, pattern=text, free=room, size=max(sizes), count=left))
    return found


def _sizes(path: Path) -> list[int]:
    try:
        with os.scandir(path.parent) as entries:
            names = [entry for entry, _ in zip(entries, range(_LISTED), strict=False)]
            return [
                entry.stat().st_size
                for entry in names
                if Path(entry.name).match(path.name) and entry.is_file()
            ]
    except OSError:
        return []


def _times(source: Source, call: ast.Call, values: Values) -> int | None:
    """How often a save in a loop over a known range happens; None when a condition decides it while the script runs."""
    loops = source.loops_around(call)
    if len(loops) != 1 or not isinstance(loops[0], ast.For):
        return None
    loop = loops[0]
    if not (
        isinstance(loop.iter, ast.Call)
        and isinstance(loop.iter.func, ast.Name)
        and loop.iter.func.id == "range"
    ):
        return None
    bounds = [values.number(source, one) for one in loop.iter.args]
    if not bounds or len(bounds) > 2 or None in bounds:
        return None
    known = [int(bound) for bound in bounds if bound is not None]
    count = len(range(*known))
    for above in source.ancestors(call):
        if above is loop:
            return count
        if isinstance(above, ast.If):
            every = _every(above.test)
            if every is None:
                return None
            count //= every
        elif not isinstance(above, (ast.Expr, ast.With)):
            return None
    return None


def _every(test: ast.expr) -> int | None:
    """5 of `epoch % 5 == 0` and of `(epoch + 1) % 5 == 0`."""
    match test:
        case ast.Compare(left=ast.BinOp(op=ast.Mod(), right=right), ops=[ast.Eq()]):
            number = constant(right)
            return number if isinstance(number, int) and number > 0 else None
    return None
