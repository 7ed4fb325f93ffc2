import re

from premortem.preflight.data import names
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Look, Root, Severity

# What numbers are to be multiplied with, or are in. Not what the split itself amounts to, such as its mean, and not where it was cut out.
_MATTERS = frozenset(
    "scale_factor add_offset unit units gain gains sampling_rate sample_rate samplerate sampling_frequency sfreq fs".split()
)
_APPLIES = frozenset({"xarray", "netCDF4", "rioxarray"})  # libraries that read these notes by themselves


class NotesDifferBetweenSplits(Check):
    """What is noted with the arrays of two splits differs: their scale, unit or rate; and the script does not read the notes.

    ## Why it matters
    The numbers are stored in another unit, and the file says so. Read without the note, one split is a multiple of the other.

    ## Usual causes
    Two recorders with another range; a packed export (`scale_factor`, `add_offset`) of which one part was packed otherwise.

    ## What to do
    Apply the notes when the arrays are read.

    ## When it stays silent
    Where the script reads attributes, or a library that applies them; for files that it does not read; and for all notes but scale factors,
    offsets to be added, units, gains and sampling rates.
    """

    card = Card("PM736", "notes-differ-between-splits", "data-scale", Severity.WARNING).explaining(
        "columns-differ-between-files", "columns-differ-between-phases"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        read = {part for word in facts.names for part in word.split(".")}
        if "attrs" in read or read & _APPLIES:
            return
        noted: dict[tuple[str, str], list[tuple[Look, str]]] = {}
        for group in root.groups:
            for look in (each for each in group.looks if facts.reads(each.path)):
                split = names.split_of(look.path.rpartition("/")[2]) or names.split_of(look.part)
                for key, value in look.attributes if split else ():
                    if spelled(key) in _MATTERS and key not in facts.words:
                        noted.setdefault((key, names.without_split(look.part)), []).append((look, value))
        seen: set[str] = set()
        for (key, _), found in noted.items():
            one = found[0]
            other = next((each for each in found if each[1] != one[1]), None)
            if other is None or key in seen:
                continue
            seen.add(key)
            yield self.finding(
                f"`{key}` is {one[1][:40]} in `{one[0].path}` and {other[1][:40]} in `{other[0].path}`, and the "
                f"script does not read it",
                cause="The numbers of the two splits are stored in another scale or unit, as the files themselves say.",
                remedy="Apply the attribute when the array is read.",
                files=[one[0].path, other[0].path],
                key=key,
            )


def spelled(key: str) -> str:
    """`SamplingRate` and `sampling-rate` as `sampling_rate`."""
    return re.sub(r"[^a-z]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower()).strip("_")
