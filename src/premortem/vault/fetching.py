"""A checkpoint that is only on the mirror: a new machine, a folder that was wiped."""

import shutil
from pathlib import Path

from premortem.errors import VaultError
from premortem.vault.atomic import draft_beside, in_one_sentence, publish_folder, sha256_of
from premortem.vault.listing import Found, checkpoints, copied
from premortem.vault.manifest import NAME, Manifest
from premortem.vault.opening import number_of
from premortem.vault.places import Away


def fetch_newest(url: str, folder: Path, *, after: float) -> list[str]:
    """Bring the newest whole checkpoint that was saved after this time into `folder`. Returns sentences: what it did, and what failed."""
    remarks: list[str] = []
    try:
        place = Away(url)
        found = [each for each in checkpoints(place) if number_of(Path(each.name)) is not None]
    except VaultError as error:
        return [f"The mirror was not asked: {error}"]
    found = [each for each in found if each.manifest is None or each.manifest.time > after]
    for each in reversed(found):
        try:
            _bring(place, each, folder)
        except VaultError as error:
            remarks.append(f"{each.name} on the mirror was skipped: {error}")
        else:
            return [*remarks, f"{each.name} was brought back from the mirror"]
    return remarks


def _bring(place: Away, found: Found, folder: Path) -> None:
    if found.problem:
        raise VaultError(found.problem)
    final = folder / Path(found.name).name
    draft = draft_beside(final)
    with in_one_sentence(final):
        try:
            draft.mkdir(parents=True)
            copy = copied(place, found, draft, lambda _count: None)
            manifest = Manifest.read(copy / NAME)
            for name, record in manifest.files.items():
                if not (copy / name).is_file() or sha256_of(copy / name) != record.sha256:
                    raise VaultError(f"`{name}` is not what was sent", record=name)
            replaced = publish_folder(copy, final)
            if replaced is not None:  # a damaged one of the same step
                shutil.rmtree(replaced, ignore_errors=True)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
