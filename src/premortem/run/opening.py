"""What a run is kept in and sent to: its folder with the journal and the sources, sinks, a mirror."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem import __version__, redaction
from premortem.journal import Journal
from premortem.run.environment import revision
from premortem.run.options import RunOptions
from premortem.terminal.console import Console

if TYPE_CHECKING:
    from premortem.shelf.publisher import Publisher
    from premortem.sinks.relay import Relay
    from premortem.vault.mirror import Mirror

_CONFIGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini")


def open_journal(
    options: RunOptions, claim: Callable[[], Path], record: dict[str, Any], console: Console, *, alone: bool
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
    if chosen is None and alone and not folder.is_relative_to(Path.cwd()):
        console.problem(f"the disk is nearly full; premortem keeps its record of this run in {folder}")
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
    return journal


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
