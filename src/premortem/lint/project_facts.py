"""What the whole project says, joined from the summaries of its files.

The facts are complete when all files have been seen once. A rule that asks a question about the project before that
is put off (`NotYet`) and runs again on that file in a second pass: so only files with a suspicion are read twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from premortem.lint.datasets import INDEXED
from premortem.lint.imports import can_mean, means, place
from premortem.lint.keys import CONVERTED, READ, SPREAD
from premortem.lint.marks import EPOCHS, IMPORT, LEARNS, LOADS, OUTPUT, SET_EPOCH, SETS_EPOCH
from premortem.lint.meters import KEEPS
from premortem.lint.summaries import PLACED, VERBS, Summary, join
from premortem.lint.trained_on import GIVEN, HANDED

if TYPE_CHECKING:
    from premortem.lint.target import Target

__all__ = ["VERBS", "Facts", "NotYet", "Summary"]

HOPS = 4  # calls followed from a function to what it does, imports from a file to those that use it


class NotYet(Exception):  # noqa: N818 - a signal to the engine, not an error
    """The facts are not known yet: the rule is run again when they are."""


class Facts:
    """The facts about a project. `root` and `target` are known at once, the rest after the first pass.

    Functions are known by their last name, in the files that import each other: two functions of one name there are
    taken for one that does what both do. That is right for staying silent and too weak for an accusation. `path` is the
    file that asks; what a stranger to it does under the same name says nothing.
    """

    def __init__(
        self,
        root: Path,
        target: Target | None = None,
        summaries: Iterable[Summary] | None = None,
        path: str | None = None,
    ) -> None:
        self.root = root
        self._path = None if path is None else place(path)
        self.target = target
        self._summaries = None if summaries is None else list(summaries)

    @cached_property
    def _joined(self) -> Summary:
        if self._summaries is None:
            raise NotYet
        return self._summaries[0] if len(self._summaries) == 1 else join(self._summaries)

    @property
    def fp16(self) -> bool:
        """Some file uses fp16: `.half()`, autocast to float16 (CUDA's default), a GradScaler."""
        return "fp16" in self._joined.marks

    @property
    def never_tells_the_epoch(self) -> bool:
        """The project trains over epochs, and neither it nor a framework it uses calls `set_epoch`."""
        marks = self._joined.marks
        if not {"backward", EPOCHS} <= marks or SET_EPOCH in marks:
            return False
        return not any(name.partition(".")[0] in SETS_EPOCH for _file, _folder, name in self._imports)

    @property
    def learns(self) -> bool:
        """Some file imports torch or a package on top of it: what the others compute is data of a model, or says how good it is."""
        return LEARNS in self._joined.marks

    @property
    def yaml_loaders(self) -> frozenset[str]:
        """How the project reads YAML: of "pyyaml", "omegaconf", "hydra", "ruamel"."""
        return frozenset(mark[5:] for mark in self._joined.marks if mark.startswith("yaml:"))

    def runs_with(self, path: str, what: str) -> bool:
        """Whether this file, or one that imports it, directly or through others, uses "fp16" or "compile"."""
        using = {mark[len(what) + 1 :] for mark in self._joined.marks if mark.startswith(what + ">")}
        return bool(self._users(place(path)) & using)

    def imports_what(self, what: str) -> bool:
        """Whether the file that asks, or one that it imports, directly or through others, is marked with this ("modes")."""
        marked = [mark[len(what) + 1 :] for mark in self._joined.marks if mark.startswith(what + ">")]
        return any(self._path is None or self._path in self._users(file) for file in marked)

    def _users(self, file: str) -> set[str]:
        """A file and those that import it, directly or through others."""
        seen = reached = {file}
        for _hop in range(HOPS):
            reached = {
                user
                for one in reached
                for user, folder, name in self._that_may_mean(one)
                if user not in seen and can_mean(name, folder, one)
            }
            seen = seen | reached
            if not reached:
                break
        return seen

    def _that_may_mean(self, file: str) -> list[tuple[str, str, str]]:
        """The imports that end in the name of this file or of its folder: no other can mean it."""
        stem = file.rpartition(".")[0]
        ends = {stem.rpartition("/")[2], stem.rpartition("/")[0].rpartition("/")[2]}
        return [one for end in ends for one in self._imports_by_end.get(end, ())]

    @cached_property
    def _imports_by_end(self) -> dict[str, list[tuple[str, str, str]]]:
        found: dict[str, list[tuple[str, str, str]]] = {}
        for one in self._imports:
            for end in set(one[2].split(".")[-2:]):
                found.setdefault(end, []).append(one)
        return found

    @cached_property
    def _callers(self) -> set[str] | None:
        """The files that can call a function of the file that asks; None where that is not known: all of them."""
        return None if self._path is None else self._users(self._path)

    @cached_property
    def _called(self) -> set[str] | None:
        """The files whose functions the file that asks can call, directly or through others."""
        if self._path is None:
            return None
        files = {mark.partition(PLACED)[2] for mark in self._joined.calls}
        seen = reached = {self._path}
        for _hop in range(HOPS):
            before = reached
            reached = {
                file
                for file in files - seen
                if any(
                    user in before and can_mean(name, folder, file)
                    for user, folder, name in self._that_may_mean(file)
                )
            }
            seen = seen | reached
            if not reached:
                break
        return seen

    @cached_property
    def _imports(self) -> list[tuple[str, str, str]]:
        """(file, folder to look from, dotted name) of what the project's files import."""
        marks = (mark for mark in self._joined.marks if mark.startswith(IMPORT))
        return [
            (file, folder, name) for file, folder, name in (mark[len(IMPORT) :].split(">") for mark in marks)
        ]

    def converts(self, key: str) -> bool:
        """Whether some file turns a setting of this name into a number itself: `float(config["lr"])`."""
        return CONVERTED + key in self._joined.marks or CONVERTED + "*" in self._joined.marks

    def reads(self, key: tuple[str, ...]) -> bool:
        """Whether some file surely reads the setting `optim.lr`, or hands on all of `optim`.

        A file that hands on everything it is given reads nothing in particular: the setting can be one that no program
        has asked for in years.
        """
        marks = self._joined.marks
        return bool(key) and (READ + key[-1] in marks or any(SPREAD + one in marks for one in key[:-1]))

    def output_of(self, name: str, path: str, item: int | None = None) -> str:
        """How the output of a class, or an item of it, ends ("softmax", "sigmoid") that this file imports; "" if unknown."""
        folder = place(path).rpartition("/")[0]
        module, _, owner = name.rpartition(".")
        owner += "" if item is None else f"[{item}]"
        found = set()
        for mark in self._joined.marks:
            if mark.startswith(OUTPUT):
                file, known, kind = mark[len(OUTPUT) :].split(">")
                if known == owner and module and means(module, folder, file):
                    found.add(kind)
        return found.pop() if len(found) == 1 else ""

    def kept_by(self, name: str, method: str, path: str) -> list[tuple[str, int]]:
        """The parameters that a method of a class adds up, which this file imports by this name."""
        folder = place(path).rpartition("/")[0]
        module, _, owner = name.rpartition(".")
        found = set()
        for mark in self._joined.marks:
            if mark.startswith(KEEPS):
                file, known, parameter, number = mark[len(KEEPS) :].split(">")
                if known == f"{owner}.{method}" and module and means(module, folder, file):
                    found.add((parameter, int(number)))
        return sorted(found)

    def reads_by_index(self, name: str, path: str) -> bool:
        """Whether the dataset class that this file imports by this name gives its samples by index, and not by chance."""
        folder = place(path).rpartition("/")[0]
        module, _, owner = name.rpartition(".")
        files = [
            file
            for file, _, known in (
                mark[len(INDEXED) :].partition(">") for mark in self._joined.marks if mark.startswith(INDEXED)
            )
            if known == owner and module and means(module, folder, file)
        ]
        return len(files) == 1

    def trains_on(self, name: str, path: str) -> list[tuple[str, int]]:
        """The parameters, with their places, of a class or function that this file imports, on which it trains."""
        folder = place(path).rpartition("/")[0]
        module, _, owner = name.rpartition(".")
        found = set()
        for mark in self._joined.marks:
            if mark.startswith(HANDED):
                file, known, parameter, number = mark[len(HANDED) :].split(">")
                if known == owner and module and means(module, folder, file):
                    found.add((parameter, int(number)))
        return sorted(found)

    def trains_with(self, function: str, item: int, of: int, path: str) -> bool:
        """Whether a file that imports this function trains on what it gives: on the item at this place of so many."""
        here = place(path)
        for mark in self._joined.marks:
            if mark.startswith(GIVEN):
                _file, folder, name, number, size = mark[len(GIVEN) :].split(">")
                module, _, known = name.rpartition(".")
                if (
                    known == function
                    and (int(number), int(size)) == (item, of)
                    and means(module, folder, here)
                ):
                    return True
        return False

    def loads_from(self, attribute: str) -> bool:
        """Whether a file that can use a class of the one that asks loads weights from this attribute of another object."""
        files = {
            file
            for file, _, known in (
                mark[len(LOADS) :].partition(">") for mark in self._joined.marks if mark.startswith(LOADS)
            )
            if known == attribute
        }
        return bool(files) and (self._callers is None or bool(files & self._callers))

    def called_without_grad(self, function: str) -> bool:
        """Whether a function of this name is called under `no_grad`/`inference_mode` somewhere."""
        return self._holds_for(self._without_grad, function)

    def called_in_eval(self, function: str, *, elsewhere: bool = False) -> bool:
        """Whether a function of this name is called from a function that also calls `.eval()`; `elsewhere`: of other files."""
        return self._holds_for(self._in_eval, function, elsewhere=elsewhere)

    @cached_property
    def _without_grad(self) -> dict[str, set[str]]:
        return _files_by_name(self._joined.without_grad)

    @cached_property
    def _in_eval(self) -> dict[str, set[str]]:
        return _files_by_name(self._joined.in_eval)

    def _holds_for(self, marked: dict[str, set[str]], function: str, *, elsewhere: bool = False) -> bool:
        """Whether a file that can call a function has marked it."""
        files = marked.get(function, set())
        if elsewhere and self._path is not None:
            files = files - {self._path}
        return bool(files) and (self._callers is None or bool(files & self._callers))

    def does(self, function: str, verb: str) -> bool:
        """Whether a function of this name calls `verb`, itself or through other functions of the project.

        `verb` must be one of `VERBS`.
        """
        if verb not in VERBS:
            raise ValueError(f"add {verb!r} to summaries.VERBS")
        calls = self._calls
        here, seen = {function}, {function}
        for _hop in range(HOPS):
            called = {name for one in here for name in calls.get(one, ())}
            if verb in called:
                return True
            here = called - seen
            seen |= here
        return False

    def knows(self, function: str) -> bool:
        """Whether a file that the one that asks can reach has a function of this name that calls something."""
        return function in self._calls

    @cached_property
    def _calls(self) -> dict[str, set[str]]:
        """What functions call, of the files that the one that asks can reach."""
        found: dict[str, set[str]] = {}
        for mark, names in self._joined.calls.items():
            function, _, file = mark.partition(PLACED)
            if self._called is None or file in self._called:
                found.setdefault(function, set()).update(names)
        return found


def _files_by_name(marks: set[str]) -> dict[str, set[str]]:
    """`{"evaluate": {"/repo/train.py"}}` of `evaluate @ /repo/train.py`."""
    found: dict[str, set[str]] = {}
    for mark in marks:
        name, _, file = mark.partition(PLACED)
        found.setdefault(name, set()).add(file)
    return found
