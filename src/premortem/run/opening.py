"""What a run is kept in and sent to: its folder with the journal and the sources, sinks, a mirror."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem import __version__, redaction
from premortem.files.repository import revision
from premortem.journal import Journal
from premortem.run.options import RunOptions
from premortem.terminal.console import Console

if TYPE_CHECKING:
    from premortem.shelf.publisher import Publisher
    from premortem.sinks.relay import Relay
    from premortem.vault.mirror import Mirror

_CONFIGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini")


def open_journal(
    options: RunOptions, claim: Callable[[], Path], record: dict[str, Any], console: Console
) -> Journal | None:
    chosen = options.folder
    try:
        folder = claim()
    except OSError as error:
        console.problem(
            f"the run folder {chosen or Path('.premortem', 'runs')} cannot be made "
            f"({error.strerror}); the run goes on without a journal"
        )
        return None
    meta = {
        **record,
        "premortem": __version__,
        "cwd": Path.cwd(),
        "pid": os.getpid(),
        "host": platform.node(),
        "executable": sys.executable,
        "revision": revision(Path.cwd()),
    }
    journal = Journal.open(folder, meta=meta, on_problem=console.problem)
    keep_sources(journal, options)
    if chosen_by_a_sweep := sweep_settings(os.environ):
        journal.note(settings=chosen_by_a_sweep)
    return journal


def sweep_settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """What a sweep has chosen for this run and says in the environment: a task of a SLURM array, an agent of W&B's."""
    found: dict[str, Any] = {name: environ[name] for name in ("SLURM_ARRAY_TASK_ID",) if environ.get(name)}
    path = Path(environ.get("WANDB_SWEEP_PARAM_PATH", ""))
    if path.suffix == ".yaml":
        from premortem.configs.places import Broken
        from premortem.configs.reading import parse
        from premortem.files.untrusted import read_text

        with suppress(OSError, ValueError, Broken):
            chosen = parse(path, read_text(path)).data
            entries = chosen.items() if isinstance(chosen, Mapping) else ()
            found |= {str(k): v["value"] for k, v in entries if isinstance(v, Mapping) and "value" in v}
    return found


def keep_sources(journal: Journal, options: RunOptions) -> None:
    """The script and the configs it is started with, as they are now: two runs can then be compared."""
    script = [] if options.module else [options.target]
    words = [word.rpartition("=")[2] for word in options.argv]
    configs = [word for word in words if word.endswith(_CONFIGS) and Path(word).is_file()]
    for path in [*script, *configs]:
        redaction.learn_file(path)  # before anything of it is printed
        journal.source(str(Path(path).absolute()))


def open_relay(options: RunOptions, journal: Journal | None, console: Console, name: str) -> Relay | None:
    if not options.sinks:
        return None
    from premortem.sinks.relay import Relay

    fault = journal.fault if journal is not None else lambda _unit, _error: None
    return Relay(options.sinks, console.problem, fault, script=name)


def open_mirror(options: RunOptions, journal: Journal | None, console: Console) -> Mirror | None:
    if options.mirror is None:
        return None
    if journal is None:
        console.problem("the mirror needs a run folder; the run goes on with neither")
        return None
    from premortem.vault.mirror import Mirror

    folder = journal.path.parent
    mirror = Mirror(options.mirror, folder / "mirror")
    adopted = mirror.adopt(folder.parent)
    if adopted:
        console.problem(
            f"the mirror also gets {adopted} checkpoint{'s' * (adopted > 1)} that earlier runs could not send"
        )
    return mirror


def open_publisher(options: RunOptions, journal: Journal | None, console: Console) -> Publisher | None:
    if options.publish is None:
        return None
    if journal is None or not journal.keeps:
        console.problem("only a run with a journal can be published; the run goes on without")
        return None
    from premortem.shelf.publisher import Publisher

    publisher = Publisher(options.publish, journal.path.parent, console.problem)
    journal.note(published=publisher.address)
    publisher.start()
    return publisher
