import re
from collections import Counter
from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import TWICE, Detector
from premortem.detectors.evaluation_dwarfs_training import repeated
from premortem.events import (
    DataProfiled,
    EnvironmentRead,
    EpochEnded,
    Event,
    FilesRead,
    LoaderBuilt,
    RunEnded,
    Site,
    Variable,
)
from premortem.files.variables import PROCESSES
from premortem.findings import Finding, Severity
from premortem.profile.facts import Profile

_SWITCHES = frozenset({"1", "true", "yes", "on", "debug", "fast", "quick", "tiny", "smoke"})
# What a switch for a smoke test is called; a number speaks for itself.
_SPEAKING = frozenset(
    "debug smoke quick fast tiny mini small dry dev test try limit limited subset sample samples rows cut short overfit demo".split()
)
_PART = 0.5  # of the data at most: a limit that leaves more is a choice
_HANDFUL = 0.1  # ... where a switch alone must explain it
# What other numbers are called: a size, a length, or the few labels that an experiment is about.
_OTHERS = frozenset(
    "batch hidden dim dims epoch epochs step steps seed width heads layers eval val test workers port "
    "label labels labeled labelled shot shots few support query".split()
)
_TIMES = 4.0  # as many rows in the evaluation: the training rows were cut, and those were not


class CutByTheEnvironment(Detector):
    """A variable of the environment or a setting in a file, which the script asks for, keeps most of the data from it.

    ## Why it matters
    It was set for a smoke test, in a shell or a job file that lives on. The script, its arguments and its log are those of a
    full run, and the model has seen a handful of rows.

    ## Usual causes
    `export QUICK_ROWS=32` in a profile; `DEBUG=1` in the environment of a notebook or a container; `max_samples: 32` in a
    configuration file since the last smoke test.

    ## What to do
    `unset` the variable and start again. Let the script print what it was limited to.

    ## When it stays silent
    Unless the number in the variable is the number of rows, of batches or the share that was used, or a switch is on and less
    than a tenth of the data is used. A number in a file counts where its name says that it limits something ("debug", "limit", "max_samples"),
    and where the evaluation has four times as many rows. An option on the command line was typed for this run, and is left alone. So is what
    limits one of several sets that are trained on, and not the largest.
    """

    card = Card(
        "PM346",
        "cut-by-the-environment",
        "config",
        Severity.WARNING,
        explains=(
            "evaluation-dwarfs-training",
            "fewer-samples-than-expected",
            "same-batch-every-step",
            "class-only-in-evaluation",
        ),
    )
    listens = (EnvironmentRead, FilesRead, DataProfiled, LoaderBuilt, EpochEnded, RunEnded)

    def __init__(self) -> None:
        self._variables: tuple[Variable, ...] = ()
        self._settings: tuple[Variable, ...] = ()
        self._profiled: DataProfiled | None = None
        self._files: dict[str, int] = {}  # read, and the rows they have
        self._loaders: dict[int, LoaderBuilt] = {}
        self._left: Counter[tuple[int, int]] = Counter()  # (loader, batches) of passes that were left early

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, EnvironmentRead):
            self._variables = event.variables
        elif isinstance(event, FilesRead):
            self._settings = event.settings
            self._files |= {file.path: file.rows for file in event.files if file.rows}
        elif isinstance(event, DataProfiled):
            self._profiled = event
        elif isinstance(event, LoaderBuilt):
            self._loaders[event.loader] = event
        elif isinstance(event, EpochEnded) and not event.complete:
            self._left[event.loader, event.batches] += 1
        # What there is to know comes in any order.
        if isinstance(event, (EnvironmentRead, DataProfiled, EpochEnded, RunEnded)):
            for variable in self._variables:
                how = self._changed(variable)
                if how and not self.over:
                    yield self._say(event, variable, how)
            for variable in self._settings:
                how = self._limited(variable)
                if how and not self.over:
                    yield self._say_setting(event, variable, how)

    def _rows(self) -> tuple[Profile | None, int]:
        """The most that was trained on, and the rows of the largest evaluation. What is judged without a loader has no length."""
        seen = [p for p in self._profiled.profiles if not p.beside] if self._profiled is not None else []
        trained = max((p for p in seen if p.phase == "training"), key=rows_of, default=None)
        judged = [p for p in seen if p.phase == "evaluation" or repeated(p)]
        return trained, max((p.length or p.distinct for p in judged), default=0)

    def _limited(self, variable: Variable) -> str:
        """A number in a file that limits something, and the very number of rows that the model has seen."""
        words = set(re.split(r"[^a-z]+", variable.name.lower()))
        trained, judged = self._rows()
        if trained is None or not words & _SPEAKING or words & _OTHERS:
            return ""
        mine = rows_of(trained)
        if mine >= TWICE and variable.value == str(mine) and judged >= _TIMES * mine:
            return f"only {mine} rows ({judged} in the evaluation)"
        return ""

    def _changed(self, variable: Variable) -> str:
        trained, judged = self._rows()
        if trained is not None and (
            how := of_rows(variable, trained, judged) or of_file(variable, trained, self._files)
        ):
            return how
        for (key, batches), times in self._left.items():
            loader = self._loaders.get(key)
            if loader is None or times < TWICE or not loader.batches or variable.value != str(batches):
                continue
            if batches <= _PART * loader.batches:
                return f"{batches} of {loader.batches} batches in each pass"
        return ""

    def _say(self, event: Event, variable: Variable, how: str) -> Finding:
        name = variable.file.rpartition("/")[2]
        asks = "The script asks" if name.endswith(".py") else f"`{name}`, line {variable.line}, asks"
        return self.last_word(
            event,
            f"{variable.name}={variable.value} is set in the environment, and the run trains on {how}",
            cause=f"{asks} for {variable.name}, and what it was given limits the training data.",
            remedy=f"`unset {variable.name}` and start again; let the script print what it was limited to.",
            at=Site(variable.file, variable.line),
            variable=variable.name,
            value=variable.value,
        )

    def _say_setting(self, event: Event, variable: Variable, how: str) -> Finding:
        name = variable.file.rpartition("/")[2]
        return self.last_word(
            event,
            f"`{variable.name}` is {variable.value} in `{name}`, line {variable.line}, and the run trains on {how}",
            cause="This setting limits the training data, and the evaluation is not limited.",
            remedy=f"Raise or remove `{variable.name}` and start again; let the script print what it was limited to.",
            at=Site(variable.file, variable.line),
            variable=variable.name,
            value=variable.value,
        )


def of_file(variable: Variable, trained: Profile, files: dict[str, int]) -> str:
    """... the rows of a file, of which a slice was taken before a dataset was made of them."""
    mine = rows_of(trained)
    try:
        number = float(variable.value)
    except ValueError:
        return ""
    for path, rows in files.items():
        if not 0 < mine <= _PART * rows:
            continue
        shared = variable.name in PROCESSES and number > 1 and _PART * rows <= mine * number <= 1.02 * rows
        if shared or number == mine or (0 < number < 1 and abs(number * rows - mine) <= 1):
            return f"{mine} of {rows} rows of `{path.rpartition('/')[2]}`"
    return ""


def rows_of(trained: Profile) -> int:
    mine = trained.length or 0
    if trained.rows >= TWICE * trained.distinct and trained.distinct:
        mine = min(mine or trained.distinct, trained.distinct)
    return mine


def of_rows(variable: Variable, trained: Profile, judged: int) -> str:
    """How a variable explains the rows that were trained on; nothing when it does not."""
    value = variable.value
    mine = rows_of(trained)
    whole = trained.total or 0
    if not mine or not (mine <= _PART * whole or judged >= _TIMES * mine):
        return ""
    shown = f"{mine} of {whole} rows" if whole > mine else f"only {mine} rows ({judged} in the evaluation)"
    lower = value.strip().lower()
    if lower in _SWITCHES and lower != str(mine):
        if not set(re.split(r"[^a-z]+", variable.name.lower())) & _SPEAKING:
            return ""
        return shown if mine <= _HANDFUL * whole or judged >= _TIMES * mine else ""
    try:
        number = float(value)
    except ValueError:
        return ""
    if number == mine or (0 < number < 1 and whole and abs(number * whole - mine) <= 1):
        return shown
    return ""
