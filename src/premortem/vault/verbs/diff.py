"""`premortem ckpt diff`: what changed from one checkpoint to another."""

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.text import Text

from premortem.command_line import Parser
from premortem.errors import UsageError, VaultError
from premortem.terminal.pages import terminal
from premortem.vault.contents import Contents
from premortem.vault.leaves import shown
from premortem.vault.listing import at_hand, recorded
from premortem.vault.matching import Spec, match
from premortem.vault.verbs import base
from premortem.vault.verbs.choosing import candidates
from premortem.vault.verify import verify

_SHOWN = 40
_STATES = 3  # of the optimizer's tensors: they change with every step, and far more than the weights
_LONG = 60
_STATE = re.compile(r"(^|\.)state\.\d+\.")  # as `Optimizer.state_dict()` names them


@dataclass
class Change:
    """One tensor that both have. `largest` is the largest difference of an element, `relative` that of the norms."""

    name: str
    other: str  # its name in B
    same: bool
    largest: float | None = None
    relative: float | None = None
    problem: str = ""


@dataclass
class Difference:
    """What two checkpoints do not share."""

    only_a: list[str] = field(default_factory=list)
    only_b: list[str] = field(default_factory=list)
    renaming: str = ""
    changes: list[Change] = field(default_factory=list)
    values: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)  # A or B → what is wrong with it

    @property
    def moved(self) -> list[Change]:
        return [each for each in self.changes if not each.same]

    @property
    def same(self) -> bool:
        changed = self.only_a or self.only_b or self.moved or self.values or self.renaming
        return not (changed or self.damaged)


def diff_parser() -> Parser:
    made = base.parser(
        "diff",
        "[options] A B",
        "What changed from checkpoint A to checkpoint B: names, shapes, types, numbers, plain values. "
        "Exit code 0 when they hold the same, 1 when not.",
    )
    made.add_argument("a", nargs="?", metavar="PATH", help="a checkpoint")
    made.add_argument("b", nargs="?", metavar="PATH", help="another one")
    made.add_argument("--all", action="store_true", help="every tensor that changed")
    return made


def call(tokens: Sequence[str]) -> int:
    options = diff_parser().parse(tokens)
    if options.a is None or options.b is None:
        raise UsageError("which two? premortem ckpt diff A B")
    first, second = candidates(options.a), candidates(options.b)
    total = 4 * (first[1][0].bytes + second[1][0].bytes)
    with (
        base.progress("comparing", total) as advance,
        at_hand(first[0], first[1][0], advance) as path_a,
        at_hand(second[0], second[1][0], advance) as path_b,
        base.opened(path_a) as a,
        base.opened(path_b) as b,
    ):
        found = compare(a, b, advance)
        for name, path, each in (("A", path_a, first[1][0]), ("B", path_b, second[1][0])):
            verdict = verify(path, recorded=recorded(each), advance=advance, numbers=False)
            if not verdict.ok:
                found.damaged[name] = verdict.reason
    if options.json:
        base.print_json({"a": options.a, "b": options.b, "same": found.same, **asdict(found)})
    else:
        _show(found, everything=options.all)
    return 0 if found.same else base.DIFFERENT


def compare(a: Contents, b: Contents, advance: Any = lambda _count: None) -> Difference:
    """Tensors by name (a wrapper's prefix is seen through), values by path."""
    specs = [{name: Spec(each.shape, each.dtype) for name, each in c.tensors.items()} for c in (a, b)]
    matched = match(specs[0], specs[1])
    pairs = {theirs: ours for ours, theirs in matched.pairs.items()}
    pairs |= {name: name for name in matched.reshaped if name in a.tensors}
    found = Difference(renaming=matched.renaming)
    found.only_a = [name for name in a.tensors if name not in pairs]
    found.only_b = [name for name in b.tensors if name not in pairs.values()]
    for name, other in pairs.items():
        found.changes.append(_change(a, b, name, other))
        advance(a.tensors[name].bytes + b.tensors[other].bytes)
    for path in dict.fromkeys([*a.plain, *b.plain]):
        left, right = (repr(shown(c.plain[path])) if path in c.plain else None for c in (a, b))
        if left != right:
            found.values[path] = (left, right)
    return found


def _change(a: Contents, b: Contents, name: str, other: str) -> Change:
    left, right = a.tensors[name], b.tensors[other]
    if left.shape != right.shape:
        return Change(name, other, False, problem=f"{base.shape(left.shape)} → {base.shape(right.shape)}")
    if left.dtype != right.dtype:
        return Change(name, other, False, problem=f"{left.dtype} → {right.dtype}")
    try:
        x, y = a.read(name), b.read(other)
    except VaultError as error:
        return Change(name, other, False, problem=str(error))
    import torch

    # Bit by bit first: a NaN is then the same as itself.
    if torch.equal(x.contiguous().view(-1).view(torch.uint8), y.contiguous().view(-1).view(torch.uint8)):
        return Change(name, other, True)
    wide = torch.complex128 if x.is_complex() else torch.float64
    gap = (x.to(wide) - y.to(wide)).abs()
    norm = float(x.to(wide).abs().square().sum().sqrt())
    moved = float(gap.square().sum().sqrt())
    return Change(name, other, False, float(gap.max()), moved / norm if norm else math.inf)


def _show(found: Difference, *, everything: bool) -> None:
    screen = terminal()
    if found.same:
        screen.print(
            Text(f"The same: {len(found.changes):,} tensors to the last bit, and every value.", "bold green")
        )
        return
    for name, reason in found.damaged.items():
        screen.print(Text(f"{name} is damaged", "bold red") + base.words(f": {reason}"), soft_wrap=True)
    if found.renaming:
        screen.print(base.words(f"Names: {found.renaming}."))
    for label, names in (("only in A", found.only_a), ("only in B", found.only_b)):
        own = [name for name in names if not _STATE.search(name)]
        first = names if everything else own[:_SHOWN]
        for name in first:
            screen.print(Text(f"{label}  ", "yellow") + base.words(name))
        if len(names) > len(first):
            screen.print(Text(f"… and {len(names) - len(first):,} more {label}: --all", "dim"))
    equal = len(found.changes) - len(found.moved)
    screen.print(
        Text(f"{equal:,} tensors are the same to the last bit, {len(found.moved):,} are not.", "bold")
    )
    ranked = sorted(found.moved, key=lambda each: -(each.relative if each.relative is not None else math.inf))
    weights = [each for each in ranked if not _STATE.search(each.name)]
    state = [each for each in ranked if _STATE.search(each.name)]
    chosen = ranked if everything else [*weights[:_SHOWN], *state[:_STATES]]
    listed = base.table("tensor", ">relative change", ">largest", "")
    for each in sorted(chosen, key=lambda each: bool(_STATE.search(each.name))):
        listed.add_row(
            base.words(each.name), _number(each.relative), _number(each.largest), base.words(each.problem)
        )
    if listed.row_count:
        screen.print(listed)
    if len(ranked) > len(chosen):
        left = len(state) - min(len(state), _STATES)
        of = f", {left:,} of them state of the optimizer" if left else ""
        screen.print(Text(f"… and {len(ranked) - len(chosen):,} more{of}: --all", "dim"))
    values = base.table("value", "A", "B")
    for path, (left, right) in list(found.values.items())[: None if everything else _SHOWN]:
        values.add_row(base.words(path), base.words(_short(left)), base.words(_short(right)))
    if values.row_count:
        screen.print(Text(), values, sep="\n")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _short(text: str | None) -> str:
    if text is None:
        return "(not there)"
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"


DIFF = base.Verb("what changed from one to another", diff_parser, call)
