"""When a run must be over: `9h`, `17:30`, `2026-11-15T17:30`, `slurm`, `kaggle`, `colab`, `auto`."""

import os
import re
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from premortem.errors import UsageError

_UNITS = {"d": 86400, "h": 3600, "m": 60, "min": 60, "s": 1}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(d|h|min|m|s)")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_HOUR = 3600.0
_FORMS = "`9h`, `1h30m`, `17:30`, `2026-11-15T17:30`, `slurm`, `kaggle`, `colab` or `auto`"


class Deadline(NamedTuple):
    """A moment, in seconds since the epoch, and whose it is."""

    at: float
    whose: str


def parse(text: str, *, now: float | None = None, environ: Mapping[str, str] = os.environ) -> Deadline:
    """Raises UsageError, which says what can be given."""
    now = time.time() if now is None else now
    word = text.strip().lower()
    if word in _SESSIONS:
        found = _SESSIONS[word](environ)
        if found is None:
            raise UsageError(f"`--deadline {word}`: {_unknown(word, environ)}; give a time, such as 9h")
        return found
    if word == "auto":
        known = (look(environ) for look in _SESSIONS.values())
        found = next((each for each in known if each is not None), None)
        if found is None:
            raise UsageError(
                "`--deadline auto`: the end of this session is not known; give a time, such as 9h"
            )
        return found
    moment = _moment(word, now)
    if moment is None:
        raise UsageError(f"`--deadline {text}` is not a time; write {_FORMS}")
    if moment <= now:
        raise UsageError(f"`--deadline {text}` has passed already")
    return Deadline(moment, "the time given")


def span(word: str) -> float | None:
    """Seconds of `1h30m`; None when it is not a span of time."""
    found = _SPAN.findall(word)
    if not found or _SPAN.sub("", word).strip():
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in found)


def _moment(word: str, now: float) -> float | None:
    if (seconds := span(word)) is not None:
        return now + seconds
    if clock := _CLOCK.fullmatch(word):
        hour, minute, second = (int(part or 0) for part in clock.groups())
        today = datetime.fromtimestamp(now).astimezone()
        try:
            moment = today.replace(hour=hour, minute=minute, second=second, microsecond=0)
        except ValueError:
            return None
        return (moment if moment > today else moment + timedelta(days=1)).timestamp()
    try:
        given = datetime.fromisoformat(
            word.upper().removesuffix("Z") + ("+00:00" if word.endswith("z") else "")
        )
    except ValueError:
        return None
    return given.timestamp()


def _unknown(word: str, environ: Mapping[str, str]) -> str:
    if word != "slurm":
        return f"{word.capitalize()} did not start this session"
    if "SLURM_JOB_ID" in environ:
        return "this SLURM job does not know its end (SLURM_JOB_END_TIME is not set)"
    return "SLURM did not start this process"


def _slurm(environ: Mapping[str, str]) -> Deadline | None:
    try:
        return Deadline(float(environ["SLURM_JOB_END_TIME"]), "the end of the SLURM job")
    except (KeyError, ValueError):
        return None


def _kaggle(environ: Mapping[str, str]) -> Deadline | None:
    """12 hours with a CPU or a GPU, 9 with a TPU, from the start of the session."""
    if not on_kaggle(environ):
        return None
    hours = 9 if "TPU_WORKER_ID" in environ or "TPU_NAME" in environ else 12
    return Deadline(session_began() + hours * _HOUR, f"the end of the Kaggle session ({hours} hours)")


def _colab(environ: Mapping[str, str]) -> Deadline | None:
    """At most 12 hours; it may be less, and Colab does not announce it."""
    if not on_colab(environ):
        return None
    return Deadline(session_began() + 12 * _HOUR, "the end of the Colab session (at most 12 hours)")


_SESSIONS = {"slurm": _slurm, "kaggle": _kaggle, "colab": _colab}


def on_kaggle(environ: Mapping[str, str] = os.environ) -> bool:
    return "KAGGLE_KERNEL_RUN_TYPE" in environ


def on_colab(environ: Mapping[str, str] = os.environ) -> bool:
    return "COLAB_RELEASE_TAG" in environ or "COLAB_JUPYTER_TRANSPORT" in environ


def session_began() -> float:
    """When process 1 was started: of a container that is the container. Without /proc, this process is the session."""
    try:
        fields = Path("/proc/1/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        ticks = int(fields[19])  # field 22, and 3 are before the bracket's end
        boot = next(
            int(line.split()[1])
            for line in Path("/proc/stat").read_text(encoding="ascii").splitlines()
            if line.startswith("btime")
        )
        return boot + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return time.time()
