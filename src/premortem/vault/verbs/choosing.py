"""Which checkpoint of a place is meant."""

from premortem.amounts import few
from premortem.errors import UsageError
from premortem.vault import formats
from premortem.vault.listing import Found, checkpoints
from premortem.vault.places import Place, place_of


def candidates(
    where: str, *, step: int | None = None, file: str = "", option: str = ""
) -> tuple[Place, list[Found]]:
    """The place and what may be meant, newest first: versions of one thing. Raises UsageError."""
    place, only = place_of(where)
    found = [each for each in checkpoints(place, only) if each.files]
    path = place.local("")
    if not only and path is not None and any(each.recognises(path) for each in formats.ALL):
        # The folder is one checkpoint, however many files it has.
        found = [each for each in found if each.name == "."] or [_whole(found)]
    if not found:
        raise UsageError(f"there is no checkpoint in `{place.shown}`")
    if not only:
        found = [each for each in found if each.kind != "quarantined"] or found
    if file:
        found = [each for each in found if file in {*_names(place, each)}]
        if not found:
            raise UsageError(
                f"there is no version of `{file}` in `{place.shown}`; `premortem ckpt list` shows what there is"
            )
    if step is not None:
        steps = sorted({each.step for each in found if each.step is not None})
        found = [each for each in found if each.step == step]
        if not found:
            there = f"there are {', '.join(map(str, steps))}" if steps else "none of them says its step"
            raise UsageError(f"there is no checkpoint of step {step} in `{place.shown}`; {there}")
    things = dict.fromkeys(_thing(place, each) for each in found)
    if len(things) > 1:
        how = f" with `{option}`" if option else ""
        raise UsageError(
            f"`{place.shown}` holds several checkpoints ({few(list(things), 4)}); name one of them{how}"
        )
    # Beside its earlier versions, the file itself is none of them.
    return place, ([each for each in found if each.manifest is not None] or found)[::-1]


def _whole(found: list[Found]) -> Found:
    files = tuple(name for each in found for name in each.files)
    return Found(
        ".", "file", files, sum(each.bytes for each in found), time=found[-1].time if found else None
    )


def _thing(place: Place, found: Found) -> str:
    """What it is a version of: checkpoints of a vault are versions of one training, a kept file of its path."""
    if found.kind == "checkpoint":
        return "the training"
    path = place.local(found.name)
    return found.source or (str(path.resolve()) if path is not None else found.name)


def _names(place: Place, found: Found) -> tuple[str, ...]:
    thing = _thing(place, found)
    return thing, thing.rpartition("/")[2], found.name
