"""Images, decoded to the last row: a cut file opens without a word and fails in the middle of an epoch."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from pathlib import Path

from premortem.preflight.data.facts import Look
from premortem.preflight.data.readers.around import Around, MissingLibrary

SUFFIXES = ("jpg", "jpeg", "png", "bmp", "gif", "tif", "tiff", "webp", "ppm", "pgm")
SIDE = 16  # of the thumbnail


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise MissingLibrary("pillow") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what Pillow thinks of metadata
            with Image.open(path) as image:
                image.load()
                extrema = image.getextrema()
                bands = extrema if extrema and isinstance(extrema[0], tuple) else (extrema,)
                low = min(float(band[0]) for band in bands)  # type: ignore[arg-type]
                high = max(float(band[1]) for band in bands)  # type: ignore[arg-type]
                yield Look(
                    path=relative,
                    kind="image",
                    shape=(image.height, image.width),
                    mode=image.mode,
                    low=low,
                    high=high,
                    values=image.width * image.height,
                    flat=all(band[0] == band[1] for band in bands),
                    digest=hashlib.blake2b(image.tobytes(), digest_size=16).hexdigest(),
                    thumb=image.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX).tobytes(),
                )
    except UnidentifiedImageError:
        yield Look(path=relative, kind="image", problem=_first_bytes(path))
    except (Image.DecompressionBombError, MemoryError):
        return
    except (OSError, SyntaxError, ValueError) as error:
        if getattr(error, "errno", None):
            raise
        yield Look(path=relative, kind="image", problem=f"it cannot be decoded ({error})")


def _first_bytes(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(64)
    if head.lstrip()[:1] == b"<":
        return "it is a web page or XML, not an image: a download went wrong"
    if head.startswith(b"version https://git-lfs"):
        return "it is only a pointer of git-lfs; `git lfs pull` brings the file itself"
    if not head.strip(b"\0"):
        return "it begins with zeros: its bytes never reached the disk"
    return "its first bytes are of no image"
