"""Two runs side by side: the step where they begin to differ, and what is different."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from premortem import command_line
from premortem.amounts import count
from premortem.journal import Run
from premortem.report import setup, words
from premortem.report.story import Story, read

BLOCK = 1000
PATCH = 400  # lines of a diff that are shown
# Of another machine, or what premortem itself imports or sets in some runs and not in others.
_UNINTERESTING = {"host", "safetensors", "TORCHINDUCTOR_CACHE_DIR"}


class Parting(NamedTuple):
    """The first step at which the two do not have the same bits."""

    step: int
    what: str
    left: Any
    right: Any


class Difference(NamedTuple):
    name: str
    left: str
    right: str


@dataclass(slots=True)
class Comparison:
    left: Story
    right: Story
    parting: Parting | None
    common: int  # steps that were compared
    differences: dict[str, list[Difference]]
    patches: dict[str, str]  # file → unified diff

    @property
    def sentence(self) -> str:
        if self.parting is None and not self.common:
            return "The two runs have no step in common."
        if self.parting is None:
            return f"The two runs are the same to the last bit in {count(self.common, 'step')}."
        values = words.apart(_measured(self.parting.left), _measured(self.parting.right))
        return f"The two runs part at step {self.parting.step:,}: the {self.parting.what} is {' and '.join(values)}."

    @property
    def unlike(self) -> str:
        """What is different in code and settings, in one line."""
        changed = [
            f"{name} ({count(sum(line[:1] in '+-' and line[:3] not in {'+++', '---'} for line in patch.splitlines()), 'line')})"
            for name, patch in self.patches.items()
        ]
        named = [
            each.name for group, rows in self.differences.items() if group != "Environment" for each in rows
        ]
        return ", ".join(dict.fromkeys([*changed, *named]))


def compare(left: Path, right: Path) -> Comparison:
    stories = read(left), read(right)
    with Run(left) as one, Run(right) as other:
        common, parting = part(one, other)
    return Comparison(*stories, parting, common, differences(*stories), patches(*stories))


def part(one: Run, other: Run) -> tuple[int, Parting | None]:
    """Optimizers are compared in the order in which they were first met."""
    common, found = 0, []
    for left, right in zip(sorted(one.optimizers()), sorted(other.optimizers()), strict=False):
        number, parting = _part(one, left, other, right)
        common += number
        found += [parting] if parting is not None else []
    return common, min(found, key=lambda each: each.step, default=None)


def _part(one: Run, left: int, other: Run, right: int) -> tuple[int, Parting | None]:
    common = 0
    blocks = zip_longest(one.blocks(left, BLOCK), other.blocks(right, BLOCK))
    for mine, yours in blocks:
        if mine is None or yours is None:
            break
        if mine == yours:
            common += len(mine.step)
            continue
        if mine.step == yours.step:
            number, parting = _within(dict(_rows(mine)), dict(_rows(yours)))
            common += number
            if parting is not None:
                return common, parting
            continue
        # Long runs are kept sparsely, and not at the same steps: from here on by their numbers.
        rest_mine, rest_yours = dict(_rows(mine)), dict(_rows(yours))
        for more_mine, more_yours in blocks:
            rest_mine |= dict(_rows(more_mine)) if more_mine else {}
            rest_yours |= dict(_rows(more_yours)) if more_yours else {}
        number, parting = _within(rest_mine, rest_yours)
        return common + number, parting
    return common, None


def _rows(block: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
    yield from zip(block.step, zip(block.loss, block.grad_norm, block.lr, strict=True), strict=True)


def _within(mine: Mapping[int, Any], yours: Mapping[int, Any]) -> tuple[int, Parting | None]:
    common = 0
    for step in sorted(mine.keys() & yours.keys()):
        if mine[step] != yours[step]:
            names = ("loss", "gradient norm", "learning rate")
            pairs = zip(names, mine[step], yours[step], strict=True)
            what, left, right = next(each for each in pairs if each[1] != each[2])
            return common, Parting(step, what, left, right)
        common += 1
    return common, None


def _measured(value: Any) -> float | None:
    return None if value is None else float(value)  # a journal writes "nan"


def differences(left: Story, right: Story) -> dict[str, list[Difference]]:
    groups = {
        "Code": (_code(left, right), _code(right, left)),
        "Command": (arguments(left), arguments(right)),
        "Training and data": (setup.as_mapping(left.setup), setup.as_mapping(right.setup)),
        "Environment": (_surroundings(left), _surroundings(right)),
    }
    return {name: list(_unlike(*pair)) for name, pair in groups.items()}


def _unlike(left: Mapping[str, str], right: Mapping[str, str]) -> Iterator[Difference]:
    for name in dict.fromkeys([*left, *right]):
        if left.get(name) != right.get(name):
            yield Difference(name, left.get(name, "–"), right.get(name, "–"))


def arguments(story: Story) -> dict[str, str]:
    argv = [str(word) for word in story.meta.get("argv") or []]
    return {
        "script": story.script,
        "policy": str(story.meta.get("policy") or ""),
        **command_line.arguments(argv),
    }


def _code(story: Story, other: Story) -> dict[str, str]:
    """Of files whose text both hold the patch says more than two digests."""
    revision = str(story.meta.get("revision") or "")
    known = {pair.name for pair in _pairs(story, other)} | {pair.name for pair in _pairs(other, story)}
    files = {name: digest for name, digest in story.code.items() if Path(name).name not in known}
    return {**({"git revision": revision} if revision else {}), **files}


def _surroundings(story: Story) -> dict[str, str]:
    known = setup.as_mapping(story.environment)
    return {
        name: text for name, text in known.items() if name not in _UNINTERESTING and name != "git revision"
    }


class _Pair(NamedTuple):
    name: str
    other: str
    mine: str
    yours: str


def _pairs(left: Story, right: Story) -> list[_Pair]:
    """Files of the same name of which both journals hold the text; and the two scripts, whatever they are called."""
    mine = {Path(path).name: text for path, text in left.sources.items()}
    yours = {Path(path).name: text for path, text in right.sources.items()}
    names = [(name, name) for name in mine if name in yours]
    scripts = Path(left.script).name, Path(right.script).name
    if scripts[0] != scripts[1] and scripts[0] in mine and scripts[1] in yours:
        names.insert(0, scripts)
    return [_Pair(one, other, mine[one], yours[other]) for one, other in names]


def patches(left: Story, right: Story) -> dict[str, str]:
    """What turns the code of the left run into that of the right one."""
    found = {}
    for name, other, mine, yours in _pairs(left, right):
        if mine != yours:
            lines = list(
                difflib.unified_diff(mine.splitlines(), yours.splitlines(), name, other, lineterm="")
            )
            more = [f"… {len(lines) - PATCH:,} more lines"] if len(lines) > PATCH else []
            label = name if name == other else f"{name} and {other}"
            found[label] = "\n".join(lines[:PATCH] + more)
    return found
