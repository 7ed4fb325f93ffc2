from collections.abc import Callable, Iterator, Sequence

from premortem.preflight.data.data_facts import Annotated
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Look, Root, Severity, share

_FEWEST = 20  # boxes or spans
_SHARE = 0.05  # of them: careless hands draw one in a hundred over the border
_BEYOND = 0.05  # of the side of a picture, at least two pixels
_PIXELS = 2.0
_CUT = 0.3  # of the spans begin within a word
_SPACES = 0.05  # of the letters of a text that has words

Box = tuple[float, ...]
_FORMS: dict[str, Callable[[Box], Box]] = {
    "x, y, width, height": lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3]),
    "two corners": lambda b: (b[0], b[1], b[2], b[3]),
    "two corners, y first": lambda b: (b[1], b[0], b[3], b[2]),
    "middle, width, height": lambda b: (b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2),
}


class AnnotationsOutside(Check):
    """Boxes lie outside of their pictures, or spans do not lie on the words of their texts.

    ## Why it matters
    The network is taught to look where nothing is. The loss falls, because things have usual places and sizes.

    ## Usual causes
    Pictures that were made smaller after they were annotated; boxes as corners where width and height were meant; offsets that count
    bytes or count in a text with other line ends; a text that was stripped after its spans were noted.

    ## What to do
    Draw twenty boxes, print twenty spans, and look. Scale the annotations with the pictures, and make both in one go.

    ## When it stays silent
    Below one in twenty; when some usual form of a box (corners, width and height, middle) puts them inside; for spans that count words.
    """

    card = Card("PM621", "annotations-outside", "data-labels", Severity.WARNING).explaining(
        "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        sizes = dict(sizes_of(root))
        for group in root.groups:
            for each in (found for found in group.looks if found.notes):
                boxes = [(note, sizes.get(base(note.name))) for note in each.notes if note.what == "box"]
                yield from self._boxes(each, [(n, size) for n, size in boxes if size])
                yield from self._spans(each, [note for note in each.notes if note.what == "span"])

    def _boxes(self, file: Look, notes: Sequence[tuple[Annotated, tuple[int, int]]]) -> Findings:
        every = [(box, size) for note, size in notes for box in note.places]
        if len(every) < _FEWEST:
            return
        parts = all(max(box) <= 1.5 for box, _ in every)  # of the sides, and no pixels
        beyond = {
            name: [
                (box, size) for box, size in every if is_outside(form(box), (1, 1) if parts else size, parts)
            ]
            for name, form in _FORMS.items()
        }
        name, odd = min(beyond.items(), key=lambda pair: len(pair[1]))
        if len(odd) < _SHARE * len(every):
            return
        box, (height, width) = odd[0]
        yield self.finding(
            f"{len(odd)} of {len(every)} boxes in `{file.path}` ({share(len(odd), len(every))}) lie beyond the "
            f"border of their image, for example {', '.join(f'{v:g}' for v in box)} ({name}) in one of {width} x {height}",
            cause="The boxes belong to images of another resolution, or are written in another form.",
            remedy="Draw a few boxes over their images; scale them with the images, and make both in one go.",
            file=file.path,
            outside=len(odd),
            boxes=len(every),
            form=name,
        )

    def _spans(self, file: Look, notes: Sequence[Annotated]) -> Findings:
        every = [
            (note.name, int(place[0]), int(place[1]), said)
            for note in notes
            for place, said in zip(note.places, note.said, strict=True)
        ]
        words = all(end <= len(text.split()) for text, _, end, _ in every)
        if len(every) < _FEWEST or words:
            return
        beyond = [s for s in every if not 0 <= s[1] < s[2] <= len(s[0])]
        other = [s for s in every if s[3] and not says(*s)]
        spaced = [s for s in every if s[0].count(" ") >= _SPACES * len(s[0])]
        cut = [s for s in spaced if is_cut(s[0], s[1])]
        for odd, of, what in (
            (beyond, every, "lie beyond the end of their text"),
            (other, [s for s in every if s[3]], "do not hold the words that the file has for them"),
            (cut if len(cut) >= _CUT * len(spaced) else [], spaced, "begin in the middle of a word"),
        ):
            if odd and len(odd) >= _SHARE * len(of):
                text, start, end, _ = odd[0]
                yield self.finding(
                    f"{len(odd)} of {len(of)} spans in `{file.path}` ({share(len(odd), len(of))}) {what}: "
                    f"for example {start} to {end} of a text with {len(text)} letters, which is `{text[max(0, start) : end][:40]}`",
                    cause="The offsets do not belong to these texts (misaligned annotations): they count bytes, other line ends, or a text that "
                    "was changed afterwards.",
                    remedy="Print twenty spans and look; make texts and offsets in one go, and count letters as the script does.",
                    file=file.path,
                    odd=len(odd),
                    spans=len(of),
                )
                return


def sizes_of(root: Root) -> Iterator[tuple[str, tuple[int, int]]]:
    """Height and width of each picture, by the last part of its name; not of names that come twice with other sizes."""
    found: dict[str, set[tuple[int, int]]] = {}
    for group in root.groups:
        for each in group.looks:
            if each.kind == "image" and len(each.shape) >= 2:
                found.setdefault(base(each.path), set()).add((each.shape[0], each.shape[1]))
            for name, size in each.sizes:
                found.setdefault(base(name), set()).add(size)
    yield from ((name, next(iter(sizes))) for name, sizes in found.items() if len(sizes) == 1)


def base(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]


def is_outside(corners: Box, size: tuple[float, float], parts: bool) -> bool:
    height, width = size
    across = max(0.0 if parts else _PIXELS, _BEYOND * width)
    down = max(0.0 if parts else _PIXELS, _BEYOND * height)
    left, top, right, bottom = corners
    within = left >= -across and top >= -down and right <= width + across and bottom <= height + down
    return not within or right < left or bottom < top


def says(text: str, start: int, end: int, said: str) -> bool:
    """The end may be the last letter, or the one behind it."""
    wanted = said.strip().casefold()
    return wanted in {text[start:end].strip().casefold(), text[start : end + 1].strip().casefold()}


def is_cut(text: str, start: int) -> bool:
    return 0 < start < len(text) and text[start - 1].isalnum() and text[start].isalnum()
