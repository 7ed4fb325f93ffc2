"""What premortem has looked at in a run, and what not: a run that was not looked at is not a healthy one."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from premortem.run.ray_cluster import RayCluster, gap

if TYPE_CHECKING:
    from premortem.journal import Journal
    from premortem.ranks.descendants import Descendants
    from premortem.run.watcher import Watcher


@dataclass(frozen=True, kw_only=True)
class LookedAt:
    steps: int
    reason: str = ""  # why there was no step
    missed: tuple[str, ...] = ()  # what was not looked at, or not kept

    def to_json(self) -> dict[str, Any]:
        return {"steps": self.steps, "reason": self.reason or None, "missed": list(self.missed)}


def looked_at(
    steps: int,
    watcher: Watcher | None,
    journal: Journal | None,
    descendants: Descendants | None,
    ray: RayCluster | None,
) -> LookedAt:
    unwatched = descendants.unwatched() if descendants is not None else []
    missed = _not_kept(journal)
    if watcher is not None:
        missed += watcher.gaps()
    if descendants is not None and descendants.outside:
        missed.append("what was trained in this process outside of the trials")
    machines = ray.unreached() if ray is not None else []
    if machines and not (descendants is not None and descendants.elsewhere):
        missed.append(gap(machines))
    if steps:
        missed += [f"a child process: {each}" for each in unwatched if _trained(each)]
        return LookedAt(steps=steps, missed=tuple(missed))
    return LookedAt(steps=0, reason=_reason(watcher, unwatched, descendants, ray), missed=tuple(missed))


def _reason(
    watcher: Watcher | None, unwatched: list[str], descendants: Descendants | None, ray: RayCluster | None
) -> str:
    if watcher is None:
        return "a fault of premortem's own kept it from watching"
    if "attach" in watcher.missed:
        return watcher.missed["attach"]
    if unwatched:
        return f"training may have happened in a child process that is not watched: {unwatched[0]}"
    if descendants is not None and descendants.elsewhere:
        return descendants.elsewhere
    if ray is not None and ray.used:
        return "Ray was used, and none of its workers that could be reached trained"
    children = ", and no child process trained" if descendants is not None and descendants.started else ""
    if "torch" not in sys.modules:
        return f"torch was never imported{children}"
    if watcher.optimizers:
        return f"an optimizer was built, but none made a step{children}"
    return f"torch was imported, but no optimizer was built{children}"


def _not_kept(journal: Journal | None) -> list[str]:
    if journal is None:
        return ["the past of this run: no journal was kept"]
    folder = journal.path.parent
    if not journal.path.exists():
        return [f"the past of this run: {folder} was deleted while it went on, with all that was kept in it"]
    return [] if journal.keeps else ["the past of this run: the journal could not be kept"]


def _trained(unwatched: str) -> bool:
    """A process that has begun to train, and could not be watched; of others it is not known."""
    return not unwatched.endswith("(it does not read PYTHONPATH)")
