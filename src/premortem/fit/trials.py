"""Rehearsals in processes of their own: the script as it is, with another batch, with one change."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from premortem.errors import PremortemError
from premortem.fit.gpus import Gpu
from premortem.scriptrun.run import Plan, Script, ScriptRun

if TYPE_CHECKING:
    from typing_extensions import Self

SHARE = 0.96  # of the room: what is left is for what no model knows
# Times what is reserved where there is no limit: gaps grow over the steps of a run, and two are rehearsed.
RESERVE = 1.12
_BY_VALUE = {"DynamicOutputShapeException", "DataDependentOutputException"}
_NAMED = 2  # assumptions
_TAIL = 2000  # characters of the script's output that are shown when it fails


class NotRehearsed(PremortemError):  # noqa: N818 - reads as what it says
    """Why a script could not be rehearsed; `tail` is the end of what it printed."""

    def __init__(self, sentence: str, tail: str = "") -> None:
        super().__init__(sentence)
        self.tail = tail


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The script and the card."""

    target: str
    module: bool
    argv: list[str]
    gpu: Gpu
    device: str  # as it was named
    seconds: float = 300.0
    show_output: bool = False

    @property
    def script(self) -> Script:
        return Script(target=self.target, module=self.module, argv=self.argv)


@dataclass
class Trials:
    """Remembers every result; each is one launch."""

    asked: Asked
    launches: int = 0
    _known: dict[str, dict[str, Any]] = field(default_factory=dict)
    _run: ScriptRun | None = None

    def base(self) -> dict[str, Any]:
        return self.of()

    def of(self, **order: Any) -> dict[str, Any]:
        """Raises NotRehearsed when there is no step to predict."""
        key = json.dumps(order, sort_keys=True)
        if key not in self._known:
            self._known[key] = self._launch(order)
        return self._known[key]

    def _launch(self, order: dict[str, Any]) -> dict[str, Any]:
        asked = self.asked
        self.launches += 1
        if self._run is None:
            plan = Plan(
                play="premortem.fit.rehearsed_script:play", warm="premortem.fit.rehearsed_script:warm"
            )
            environment = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
            self._run = ScriptRun(asked.script, plan, environment=environment)
        whole = {"device": asked.device, "share": SHARE, "reserve": RESERVE, **order}
        ran = self._run.go(whole, asked.seconds, show_output=asked.show_output and not order)
        tail = ran.printed[-_TAIL:].strip()
        if ran.late:
            raise NotRehearsed(
                f"no optimizer made two steps within {asked.seconds:g} s; --seconds gives it longer", tail
            )
        if problem := ran.last("problem"):
            raise NotRehearsed(problem, tail)
        if failed := ran.last("failed"):
            raise NotRehearsed(f"the rehearsal itself failed ({failed})", tail)
        found: dict[str, Any] | None = ran.last("answer")
        if found is None:
            raise NotRehearsed("the process of the rehearsal died without an answer", tail)
        return _checked(found, tail) | {"sandbox": ran.guarantee.to_json()}

    def close(self) -> None:
        """End the process, and the script in it."""
        if self._run is not None:
            self._run.close()
            self._run = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _checked(found: dict[str, Any], tail: str) -> dict[str, Any]:
    if found["complete"] and not found["allocated"]:
        raise NotRehearsed(
            "the script trains on the CPU: nothing was put on the GPU; it may need an argument such as --device cuda",
            tail,
        )
    if found["complete"]:
        return found
    ending = found.get("ending") or {}
    if ending.get("error") in _BY_VALUE:
        raise NotRehearsed(
            f"the result of `{ending['message'].removeprefix('aten.').partition('.')[0]}` at {found['where']} depends on "
            "values, which a rehearsal does not have",
            tail,
        )
    if ending.get("error"):
        where = f" at {found['where']}" if found.get("where") else ""
        raise NotRehearsed(
            f"the script stopped before its second step: {ending['error']}{where}: {ending['message']}"
            + _assumed(found["assumptions"]),
            tail,
        )
    if not found["steps"]:
        raise NotRehearsed(
            "the script ended without making an optimizer: there is no training step to predict", tail
        )
    if not any(found["steps"].values()):
        raise NotRehearsed("the script ended before any optimizer made a step", tail)
    found["assumptions"].append("the script made fewer than two steps; what it did is what is predicted")
    return found


def _assumed(assumptions: list[str]) -> str:
    """Values that the script had only in the rehearsal: perhaps it would not have stopped with real ones."""
    values = [
        sentence for sentence in assumptions if " taken to be " in sentence or " taken to select " in sentence
    ]
    if not values:
        return ""
    more = f", and {len(values) - _NAMED} more" if len(values) > _NAMED else ""
    return (
        "; this may come from the rehearsal, which computes nothing and assumes values: "
        f"{'; '.join(values[:_NAMED])}{more}"
    )
