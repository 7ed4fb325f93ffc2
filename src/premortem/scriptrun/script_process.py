"""The script's process, right after the fork: into the sandbox, then the plan, then out."""

import importlib
import json
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from premortem.errors import UsageError
from premortem.program.running import Program
from premortem.scriptrun import process_group, trackers
from premortem.scriptrun.channel import Channel
from premortem.scriptrun.sandbox import Sandbox, enter, enter_again, kernel


class Played:
    """What a plan gets: the program, the order, and the channel for its results."""

    def __init__(self, record: dict[str, Any], scratch: Path) -> None:
        self._record = record
        self._scratch = scratch
        self._run = Path(record["run"])
        self._parent = os.getppid()
        self.order: dict[str, Any] = record["order"]
        self.program = _program(record)
        self.sandbox: Sandbox
        self._streams()
        os.chdir(record["cwd"])
        self._channel = Channel(self._run / "told.jsonl")
        self._entered = os.open(self._run / "entered.json", os.O_WRONLY | os.O_CREAT, 0o600)

    @property
    def shared(self) -> Path:
        """A folder that the verb sees too, and later launches."""
        return self._scratch / "shared"

    def tell(self, **words: Any) -> None:
        self._channel.tell(**words)

    def speak_as(self, **more: Any) -> None:
        """In a fork of the script's process, which has something of its own to tell."""
        self._channel.speak_as(**more)

    def enter(self, level: int) -> None:
        """Raises OSError when this level cannot be had."""
        self.sandbox = enter(self._scratch, self._run, level)
        kernel.die_with_parent(self._parent)  # after the namespace, which clears it
        with os.fdopen(self._entered, "w", encoding="utf-8") as file:
            json.dump(self.sandbox.record, file)

    def enter_apart(self, number: int) -> None:
        """In a fork of the script's process: a sandbox inside of this one, so that no other fork sees what it writes. Raises
        OSError when it cannot be had."""
        self.sandbox = enter_again(self._scratch / "tmp" / f"fork-{number}", self.sandbox.level)

    def play(self) -> NoReturn:
        os.environ.update(self._record["environment"])
        places = self._record["crew"]
        if places:
            process_group.lead(len(places), self._play_rank, self.tell)
            self.leave()
        self._play_alone()

    def _play_rank(self, rank: int) -> None:
        place = self._record["crew"][rank]
        os.environ.update(place["environment"])
        self.program = _program(self._record | {"argv": place["argv"]})
        self.order = self.order | {"rank": rank}
        self._channel.speak_as(rank=rank)
        if not self._record["show_output"]:
            self.print_to(process_group.printed(self.shared, rank))
        self._play_alone()

    def _play_alone(self) -> NoReturn:
        sys.argv = [self.program.target]
        trackers.silence()
        try:
            module, _, name = self._record["play"].partition(":")
            self.program.check()
            getattr(importlib.import_module(module), name)(self)
        except UsageError as error:
            self.tell(problem=str(error))
        except Exception as error:  # noqa: BLE001 - a bug of ours must be reported, not lost in the script's output
            traceback.print_exc()
            self.tell(failed=f"{type(error).__name__}: {error}")
        finally:
            self.leave()

    def leave(self) -> NoReturn:
        """Nothing of the script may run after this: no atexit handler that uploads, no thread that waits."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # the script may have closed or replaced it
                stream.flush()
        os._exit(0)

    def _streams(self) -> None:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        if not self._record["show_output"]:
            self.print_to(self._run / "printed.txt")

    @staticmethod
    def print_to(file: Path) -> None:
        """What the script prints from now on goes there."""
        sink = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        os.close(sink)


def _program(record: dict[str, Any]) -> Program:
    return Program(target=record["target"], module=record["module"], argv=record["argv"])
