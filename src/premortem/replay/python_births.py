"""Where a number that is not finite was born outside of torch: in numpy, pandas, plain Python, or a file that was read.

Torch's operations are seen by the microscope. What the script computes before torch has no such place, so while a replay
looks at the whole script, its own lines are followed one by one: what a statement was given, and what stands in its targets
afterwards. A target that is not finite although nothing was that the statement used was born there; otherwise it descends
from what was used. Which operation of the line it was is found by computing the parts of the expression again, innermost
first. Only in a replay's process: it is slow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import CodeType, FrameType
from typing import Any

import torch

from premortem.events import NonFinite, Site
from premortem.probes import operation_words
from premortem.probes.places import Item, item_of
from premortem.probes.sample_numbers import Batch
from premortem.probes.session import code_kind
from premortem.probes.source import tree_of
from premortem.replay.expression_parts import RESULT, Parts
from premortem.replay.host_values import address, leaves, worst
from premortem.replay.script_statements import UNKNOWN, Statement, resolved, statements

_MOST_LOOKS = 1 << 31  # elements in all: a few seconds
_MOST_KNOWN = 1 << 14  # values whose origin is remembered


class PythonBirths:
    """`quiet` keeps our own use of torch unseen; `batch` is the one that is being made, or was handed out last."""

    def __init__(
        self,
        batch: Callable[[], Batch | None] = lambda: None,
        quiet: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        self._batch = batch
        self.quiet = quiet
        self._statements: dict[str, dict[int, Statement]] = {}
        self._user: dict[CodeType, bool] = {}
        self._known: dict[int, tuple[Any, NonFinite]] = {}  # by identity, with what must stay alive for that
        self._memory: dict[int, NonFinite] = {}  # by address
        self.running: dict[
            int, tuple[Statement, dict[str, Any]]
        ] = {}  # by frame: what it is doing, and with what
        self._looks = 0
        self._before: Any = None

    def __enter__(self) -> PythonBirths:  # noqa: PYI034 - `Self` is not in Python 3.10
        self._before = sys.gettrace()
        if self._before is None:  # a debugger goes first
            sys.settrace(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is None:
            sys.settrace(None)

    def origin(self, tensor: torch.Tensor) -> NonFinite | None:
        """How the values of this tensor came into being, if that was outside of torch and was seen."""
        known = self._origin(tensor)
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no public way to a caller
        while known is None and frame is not None:
            if id(frame) in self.running:  # it was made by the statement that is just being executed
                done, given = self.running[id(frame)]
                known = self._used(given)
                if known is None:
                    found = self._born(frame, done, given, tensor)
                    known = found if found.op and not found.detail.startswith(RESULT) else None
            frame = frame.f_back
        return known

    def _used(self, given: dict[str, Any]) -> NonFinite | None:
        """Of what a statement was given: also the owner of a method that it calls, and no more of an object than it names."""
        known = (self._origin(value) for value in given.values())
        return next((origin for origin in known if origin is not None), None)

    # -- following the script -------------------------------------------------------------

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        mine = self._user.get(code)
        if mine is None:
            mine = self._user[code] = code_kind(code.co_filename) == 0
        return _Followed(self).heard if mine and self._looks < _MOST_LOOKS else None

    def statement(self, file: str, line: int) -> Statement | None:
        known = self._statements.get(file)
        if known is None:
            known = self._statements[file] = dict(statements(tree_of(file)))
        return known.get(line)

    def ended(self, frame: FrameType, done: Statement, given: dict[str, Any], result: Any) -> None:
        """A statement is done: is what it wrote, or returns, finite?"""
        made = [resolved(chain, frame) for chain in done.writes]
        made += [result] if done.returns else []
        broken = [value for value in made if value is not UNKNOWN and self._worst(value)]
        if not broken:
            return
        origin = next((known for value in broken if (known := self._origin(value)) is not None), None)
        if origin is None:
            origin = self._used(given)
        if origin is None:
            origin = self._born(frame, done, given, broken[0])
        for value in broken:
            self._remember(value, origin)

    def _born(self, frame: FrameType, done: Statement, given: dict[str, Any], broken: Any) -> NonFinite:
        worst = self._worst(broken)
        names = {name: value for name, value in given.items() if "." not in name}
        found = Parts(names, frame, self._worst).search(done.value)
        item = item_of()
        return NonFinite(
            stage="forward" if found.op else "data",
            value=None,
            at=Site(frame.f_code.co_filename, found.line or done.line, frame.f_code.co_name),
            op=found.op,
            detail=found.text,
            overflow=found.op in operation_words.GROWING and worst != "nan",
            made=worst,
            what="" if found.op else ".".join(next(iter(done.writes), ("input",))),
            source=self._numbers(item),
            operands=found.operands,
            dtype=found.dtype,
            located=True,
            watched=True,
        )

    def _numbers(self, item: Item | None) -> Any:
        batch = self._batch()
        return batch.item(item.owner, item.number) if item is not None and batch is not None else None

    # -- values ---------------------------------------------------------------------------

    def _worst(self, value: Any) -> str:
        """ "nan", "inf", "-inf", or "" when all of it is finite."""
        for leaf in leaves(value):
            self._looks += (
                int(getattr(leaf, "size", 1)) if not isinstance(leaf, torch.Tensor) else leaf.numel()
            )
            if isinstance(leaf, torch.Tensor):
                with self.quiet():
                    found = "" if operation_words.finite(leaf) else operation_words.worst(leaf)
            else:
                found = worst(leaf)
            if found:
                return found
        return ""

    def _origin(self, value: Any) -> NonFinite | None:
        if value is UNKNOWN:
            return None
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        for leaf in leaves(value):
            found = self._known.get(id(leaf))
            found_at = self._memory.get(address(leaf)) if found is None else found[1]
            if found_at is not None:
                return found_at
        return None

    def _remember(self, value: Any, origin: NonFinite) -> None:
        for each in (value, *leaves(value)):
            if len(self._known) >= _MOST_KNOWN:
                return
            if each is value or self._worst(each):
                self._known.setdefault(id(each), (each, origin))
                if place := address(each):
                    self._memory.setdefault(place, origin)


class _Followed:
    """One call of a function of the user's."""

    def __init__(self, births: PythonBirths) -> None:
        self._births = births
        self._open: tuple[Statement, dict[str, Any]] | None = None

    def heard(self, frame: FrameType, event: str, arg: Any) -> Any:
        try:
            if event == "exception":
                self._open = None
                self._births.running.pop(id(frame), None)
            elif event in ("line", "return"):
                self._passed(frame, event, arg)
        except Exception:  # noqa: BLE001 - a bug of ours, or a value that cannot be looked at: the script goes on
            self._open = None
        return self.heard

    def _passed(self, frame: FrameType, event: str, arg: Any) -> None:
        line = frame.f_lineno
        now = self._births.statement(frame.f_code.co_filename, line) if event == "line" else None
        if self._open is not None:
            done, given = self._open
            if now is done and line != done.line:
                return  # a further line of the same statement
            if not done.returns or event == "return":
                self._births.ended(frame, done, given, arg)
            self._open = None
            self._births.running.pop(id(frame), None)
        if now is not None:
            given = {
                ".".join(part): value
                for chain in now.uses
                for part in {chain[:1], chain}
                if (value := resolved(part, frame)) is not UNKNOWN
            }
            self._open = self._births.running[id(frame)] = (now, given)
