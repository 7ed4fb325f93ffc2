from premortem.preflight.data.data_facts import Stored
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity

_FEWEST = 10  # files
_MOST_OF = 0.5  # of the one split, and (nearly) none of the other
_HARDLY = 0.02
# Images that differ in these only are the same after `convert("RGB")`.
_SAME = {"RGBA": "RGB", "RGBX": "RGB", "LA": "L", "1": "L"}
_PALETTE = "stored with a palette (mode P)"
_CONVERTS = ("convert", "imread", "decode_image", "decode_jpeg", "read_image", "ImageFolder", "pil_loader")
_WORDS = {"audio": ("resampl", "Resampl", "librosa"), "note": ("exif",), "image": ()}
_MEANS = {
    "audio": "The same tone lies at another place of the spectrum, or a second is another number of samples.",
    "note": "Such a photograph is stored as the sensor saw it, with a note which way is up; code that does not read the note sees it "
    "turned or mirrored.",
    "palette": "Read as it is, each pixel of such an image is a place in its palette, and no brightness or colour.",
    "image": "Colour is there in one split and gone in the other; converting to RGB does not bring it back.",
}
_DO = {
    "audio": "Bring all files to one sampling rate, where they are made or where they are read.",
    "note": "Call `ImageOps.exif_transpose` where images are opened.",
    "palette": 'Call `.convert("RGB")` or `.convert("L")` where images are opened.',
    "image": "Make the files again from the originals, or train without colour.",
}


class StoredDifferently(Check):
    """The files of one split are stored in another way than those of the training split: sampling rate, colour, rotation.

    ## Why it matters
    Each file is whole and opens. The network is taught one thing and asked another: calls an octave lower, photographs on their
    heads, pictures without colour.

    ## Usual causes
    Another recorder, camera or export for one of the splits; photographs of telephones, which note their rotation in EXIF.

    ## What to do
    Bring all files to one form where they are read: resample, `ImageOps.exif_transpose`, one colour space.

    ## When it stays silent
    When less than half of a split is stored so, when the training split has such files too, and when the script resamples or
    reads the note.
    """

    card = Card("PM643", "stored-differently-between-splits", "data-scale", Severity.WARNING).explaining(
        "columns-differ-between-files", "columns-differ-between-phases", "odd-sample"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        trained = {(s.dataset, s.kind): s for s in root.stored if s.split == "train"}
        for judged in root.stored:
            first = trained.get((judged.dataset, judged.kind))
            if judged.split == "train" or first is None:
                continue
            if any(part in name for name in facts.names for part in _WORDS[judged.kind]):
                continue
            converts = not facts.names or any(part in name for name in facts.names for part in _CONVERTS)
            yield from self._compare(first, judged, converts)

    def _compare(self, first: Stored, second: Stored, converts: bool) -> Findings:
        here, there = counts(first, converts), counts(second, converts)
        for one, two, other in ((here, there, second), (there, here, first)):
            mine, yours = sum(two.values()), sum(one.values())
            for way, number in two.items():
                if way == "as it is" or min(mine, yours) < _FEWEST:
                    continue
                if number >= _MOST_OF * mine and one.get(way, 0) <= _HARDLY * yours:
                    usual = max(one, key=lambda each: one[each])
                    yield self.finding(
                        f"{number} of {mine} files of {other.split} that were read are {way}; in "
                        f"{(first if other is second else second).split} {one[usual]} of {yours} are {usual}",
                        cause=_MEANS["palette" if _PALETTE in (way, usual) else second.kind],
                        remedy=_DO["palette" if _PALETTE in (way, usual) else second.kind],
                        split=other.split,
                        way=way,
                        files=number,
                    )
                    return


def counts(stored: Stored, converts: bool) -> dict[str, int]:
    """A palette may hold colours or greys: where the code converts, it says nothing."""
    found: dict[str, int] = {}
    for way, number in stored.ways:
        palette = way == "P" and stored.kind == "image"
        if palette and converts:
            continue
        same = _PALETTE if palette else _SAME.get(way, way)
        found[same] = found.get(same, 0) + number
    return found
