"""Images, decoded to the last row: a cut file opens without a word and fails in the middle of an epoch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers.around import Around, Damaged, MissingLibrary

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = ("jpg", "jpeg", "png", "bmp", "gif", "tif", "tiff", "webp", "ppm", "pgm")
SIDE = 16  # of the thumbnail
_ORIENTATION = 274  # EXIF's number for it
_BOX = 4  # Pillow's number for averaging over boxes


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    try:
        from PIL import Image as Pillow
        from PIL import UnidentifiedImageError
    except ImportError:
        raise MissingLibrary("pillow") from None
    try:
        with Pillow.open(path) as image:
            image.load()
            turned = int(image.getexif().get(_ORIENTATION, 0) or 0)
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
                thumb=_thumb(image),
                bands=bands_of(image),
                turned=turned,
            )
    except UnidentifiedImageError:
        if problem := _first_bytes(path):
            raise Damaged(problem) from None
    except (Pillow.DecompressionBombError, MemoryError):
        return
    except (OSError, SyntaxError, ValueError) as error:
        if getattr(error, "errno", None):
            raise
        if _is_tiff(path) and "truncated" not in str(error):
            return  # a kind of TIFF that Pillow does not know
        raise Damaged(f"it cannot be decoded ({error})") from error


def bands_of(image: Image) -> tuple[float, ...]:
    """The mean of each band, then the deviation of each."""
    from PIL import ImageStat

    if image.mode not in {"L", "RGB", "RGBA", "CMYK", "YCbCr", "LA"}:
        return ()
    seen = ImageStat.Stat(image)
    return (*map(float, seen.mean), *map(float, seen.stddev))


def _thumb(image: Image) -> bytes:
    """Small and grey; nothing for colours that cannot be made grey."""
    try:
        return image.convert("L").resize((SIDE, SIDE), _BOX).tobytes()
    except ValueError:
        return b""


def _is_tiff(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in {b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"}


def _first_bytes(path: Path) -> str:
    """Why it is no image; nothing where it may be one that Pillow does not know."""
    if _is_tiff(path):
        return ""
    with path.open("rb") as file:
        head = file.read(64)
    if head.lstrip()[:1] == b"<":
        return "it is a web page or XML, not an image: a download went wrong"
    if head.startswith(b"version https://git-lfs"):
        return "it is only a pointer of git-lfs; `git lfs pull` brings the file itself"
    if not head.strip(b"\0"):
        return "it begins with zeros: its bytes never reached the disk"
    if head[8:12] == b"WEBP" or head[4:8] == b"ftyp":
        return ""
    return "its first bytes are of no image"
