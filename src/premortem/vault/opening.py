"""A path to resume from, whatever it is: a vault, one checkpoint of it, or a stranger's file. Verified first."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from premortem.errors import Refused, VaultError
from premortem.vault import parts, store, training_objects
from premortem.vault.contents import open_contents
from premortem.vault.manifest import NAME, Manifest
from premortem.vault.resume_source import OurSaved, Saved, TheirSaved
from premortem.vault.verify import verify

PREFIX = "step-"


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoint folders of a vault, the one saved last first. Whether they are whole is not asked."""
    return sorted(folders(folder), key=lambda each: (_saved_at(each), number_of(each) or 0), reverse=True)


def folders(folder: Path) -> list[Path]:
    """The same, in no order."""
    try:
        return [each for each in folder.iterdir() if each.is_dir() and number_of(each) is not None]
    except OSError:
        return []


def _saved_at(path: Path) -> float:
    """By its manifest: files that were copied are younger than what they hold, and steps can begin anew."""
    try:
        return Manifest.read(path / NAME).time
    except VaultError:
        with suppress(OSError):
            return path.stat().st_mtime
        return 0.0


def number_of(path: Path) -> int | None:
    digits = path.name.removeprefix(PREFIX)
    return int(digits) if path.name.startswith(PREFIX) and digits.isdecimal() else None


def newest_whole(
    candidates: list[Path],
    share: tuple[int, int] = (0, 1),
    of_all: Callable[[str], str] = lambda problem: problem,
) -> tuple[OurSaved | None, list[str]]:
    """The first that verifies, and a sentence for each that did not.

    Ranks that check one checkpoint together have a `share` of its files each, and `of_all` makes one problem of theirs."""
    damaged: list[str] = []
    for path in candidates:
        saved, problem = None, ""
        try:
            saved = _loaded(path, Manifest.read(path / NAME), share)
        except VaultError as error:
            problem = str(error)
        problem = of_all(problem)
        if not problem:
            return saved, damaged
        damaged.append(problem)
    return None, damaged


def _loaded(path: Path, manifest: Manifest, share: tuple[int, int] = (0, 1)) -> OurSaved:
    """What this rank needs of it. Raises VaultError."""
    return OurSaved(
        path, store.load(path, manifest, parts.for_rank(manifest, training_objects.rank()), share)
    )


@contextmanager
def opened(path: Path) -> Iterator[Saved]:
    """Raises VaultError."""
    if (path / NAME).is_file():
        manifest = Manifest.read(path / NAME)
        if manifest.kind == "checkpoint":
            yield _loaded(path, manifest)
            return
    candidates = checkpoints(path) if path.is_dir() else []
    if candidates:
        saved, damaged = newest_whole(candidates)
        if saved is None:
            raise VaultError(f"no checkpoint in {path} is whole: {'; '.join(damaged)}")
        yield saved
        return
    verdict = verify(path, numbers=False)  # the numbers are looked at where they are compared
    if not verdict.ok:
        kind = Refused if verdict.refused else VaultError
        message = verdict.reason if str(path) in verdict.reason else f"{path}: {verdict.reason}"
        raise kind(message, record=verdict.damaged[0].record if verdict.damaged else "")
    with open_contents(path) as contents:
        yield TheirSaved(path, contents)
