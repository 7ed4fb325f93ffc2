"""A save that all ranks make together (`torch.distributed.checkpoint`): one draft, one look, one verdict.

    rank 0        makes the draft's folder and says where it is
    every rank    looks at its own pieces: are they finite? does it see the folder, or has it a disk of its own?
    every rank    writes its pieces into the draft, as torch does it
    rank 0        reads all of them back, keeps the old checkpoint, publishes the new one; says what came of it

All ranks are inside their own call of `save` here, so they can be asked. What one rank cannot do, none of them does.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch.distributed as dist

from premortem.actions.save import Save, one_line
from premortem.vault.atomic import Draft
from premortem.vault.rank_talk import from_first, gathered
from premortem.vault.save_verdict import Looked

if TYPE_CHECKING:
    from premortem.actions.saving import Saving


class _Seen(NamedTuple):
    """What one rank knows before the save."""

    draft: bool  # it sees the folder
    looked: Looked


class Jointly:
    def __init__(self, saving: Saving) -> None:
        self._saving = saving

    def save(self, save: Save, group: Any, *, possible: bool) -> Any:
        """Returns what `save.write` returns, and raises what it raises. `possible` is asked of the first rank."""
        saving = self._saving
        first = dist.get_rank(group) == 0
        save.looked = saving.look(save.thing)
        if not saving.changes:
            result = save.write(save.path)
            if first or save.looked.poisoned:
                saving.judge(save)
            return result
        draft = self._draft(save) if first and possible else None
        try:
            place = saving.attempt("save", lambda: self._arranged(save, draft, group))
            if place is None:
                result = save.write(save.path)
                if first:
                    saving.judge(save)
                return result
            result = save.write(place)
            problem = self._published(save, draft) if draft is not None else ""
            problem = from_first(problem, group)
        finally:
            if draft is not None:
                draft.discard()
        if problem == _AGAIN:
            return save.write(save.path)
        if problem:
            raise OSError(errno.EIO, problem, save.given)
        return result

    def _arranged(self, save: Save, draft: Draft | None, group: Any) -> Path | None:
        """Where all ranks write; None when not all of them can write there."""
        place = from_first(str(draft.path) if draft is not None else "", group)
        seen: list[_Seen] = gathered(_Seen(bool(place) and Path(place).parent.is_dir(), save.looked), group)
        save.looked = _together(seen)
        return Path(place) if place and all(each.draft for each in seen) else None

    def _draft(self, save: Save) -> Draft | None:
        try:
            return Draft(save.path, Path(save.given).name)
        except OSError:
            return None  # the plain save will say what is wrong

    def _published(self, save: Save, draft: Draft) -> str:
        """On the first rank: what is wrong with it; "" when it has its place."""
        try:
            damage = self._saving.checked(save, draft.path)
            if damage:
                self._saving.damaged(save, damage)
                return f"what was written does not read back: {damage}"
            return "" if self._saving.settled(save, draft) else _AGAIN
        except OSError as error:
            return one_line(error)


_AGAIN = "again, in its place"


def _together(seen: list[_Seen]) -> Looked:
    """One look out of many: what is not finite in one rank's piece is not finite."""
    first = seen[0].looked
    poisoned = tuple(dict.fromkeys(name for each in seen for name in each.looked.poisoned))
    return first._replace(poisoned=poisoned[:8], checkpoint=any(each.looked.checkpoint for each in seen))
