"""The cards people train on: what `--device` may name, and what of a card is not the script's to use."""

import re
from dataclasses import dataclass, replace

from premortem.command_line import did_you_mean
from premortem.errors import UsageError

KIB, MIB, GIB = 2**10, 2**20, 2**30
_UNITS = {"": 1, "b": 1, "k": KIB, "m": MIB, "g": GIB, "t": 2**40}
_UNITS |= {f"{unit}ib": size for unit, size in _UNITS.items() if unit in "kmgt" and unit}
_UNITS |= {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", re.IGNORECASE)


@dataclass(frozen=True)
class Gpu:
    """`memory` is what the driver reports as the card's total, which is less than its name promises."""

    name: str
    title: str
    memory: int
    capability: tuple[int, int]
    processors: int  # how many pieces a reduction is split into depends on it
    threads: int = 2048  # of one multiprocessor

    @property
    def context(self) -> int:
        """Taken by the CUDA context and the loaded kernels, outside torch's own counters.

        Measured on an H200 with CUDA 13: 527 MiB when it starts, up to 767 MiB in the course of a step.
        Older cards need less; the same is assumed, on the safe side.
        """
        return 768 * MIB

    @property
    def cublas_workspace(self) -> int:
        """Of one thread that multiplies matrices. The backward pass has a thread of its own."""
        return 32 * MIB if self.capability[0] in {9, 10} else 8320 * KIB


def _gpu(
    name: str, title: str, gib: float, capability: tuple[int, int], processors: int, threads: int = 2048
) -> Gpu:
    return Gpu(name, title, int(gib * GIB), capability, processors, threads)


ALL = (
    _gpu("t4", "Tesla T4", 14.56, (7, 5), 40, 1024),
    _gpu("p100", "Tesla P100", 15.89, (6, 0), 56),
    _gpu("v100-16g", "Tesla V100 16GB", 15.77, (7, 0), 80),
    _gpu("v100-32g", "Tesla V100 32GB", 31.73, (7, 0), 80),
    _gpu("a10", "NVIDIA A10", 22.06, (8, 6), 72, 1536),
    _gpu("a10g", "NVIDIA A10G", 22.06, (8, 6), 80, 1536),
    _gpu("l4", "NVIDIA L4", 22.03, (8, 9), 58, 1536),
    _gpu("a40", "NVIDIA A40", 44.35, (8, 6), 84, 1536),
    _gpu("l40s", "NVIDIA L40S", 44.39, (8, 9), 142, 1536),
    _gpu("a6000", "NVIDIA RTX A6000", 47.41, (8, 6), 84, 1536),
    _gpu("6000-ada", "NVIDIA RTX 6000 Ada", 47.37, (8, 9), 142, 1536),
    _gpu("3060", "GeForce RTX 3060", 11.62, (8, 6), 28, 1536),
    _gpu("3080", "GeForce RTX 3080", 9.64, (8, 6), 68, 1536),
    _gpu("3090", "GeForce RTX 3090", 23.56, (8, 6), 82, 1536),
    _gpu("4080", "GeForce RTX 4080", 15.57, (8, 9), 76, 1536),
    _gpu("4090", "GeForce RTX 4090", 23.51, (8, 9), 128, 1536),
    _gpu("5090", "GeForce RTX 5090", 31.34, (12, 0), 170, 1536),
    _gpu("a100-40g", "NVIDIA A100 40GB", 39.38, (8, 0), 108),
    _gpu("a100-80g", "NVIDIA A100 80GB", 79.14, (8, 0), 108),
    _gpu("h100", "NVIDIA H100 80GB", 79.11, (9, 0), 132),
    _gpu("h200", "NVIDIA H200", 139.72, (9, 0), 132),
    _gpu("b200", "NVIDIA B200", 178.35, (10, 0), 148),
)
DEFAULT = "h100"
# A card has one name however it is written: "RTX 4090", "rtx4090", "NVIDIA GeForce RTX 4090".
_DECORATION = re.compile(r"nvidia|geforce|tesla|quadro|rtx|pcie|hbm\d?|sxm\d?|generation|[^a-z0-9]")
_USUAL = {"a100": "a100-80g", "v100": "v100-16g"}  # where the name has no size


def _key(word: str) -> str:
    return re.sub(r"(\d)(gib|gb)", r"\1g", _DECORATION.sub("", word.lower()))


def by_name(word: object) -> Gpu:
    """A card of the table, or a number of bytes such as `24GiB`: then all else is an H100's."""
    if not isinstance(word, (str, int)) or isinstance(word, bool):
        raise UsageError(f"a card is a name such as h100, or a size such as 24GiB, not {word!r}")
    word = str(word)
    known = {gpu.name: gpu for gpu in ALL}
    spelled = {_key(text): gpu for gpu in ALL for text in (gpu.title, gpu.name)}
    spelled |= {short: known[name] for short, name in _USUAL.items()}
    if _key(word) in spelled:
        return spelled[_key(word)]
    size = parse_size(word)
    if size is None:
        hint = did_you_mean(word.lower(), known) or f"there are {', '.join(known)}, or a size such as 24GiB"
        raise UsageError(f"there is no card `{word}` in the table; {hint}")
    if size < 2 * GIB:
        raise UsageError(
            f"a card with {word} bytes is less than any has; did you forget the unit, as in 24GiB?"
            if word.isdigit()
            else f"`{word}` is less than any card has"
        )
    return replace(known[DEFAULT], name=word, title=f"a card with {word}", memory=size)


def parse_size(word: str) -> int | None:
    """Bytes of `24GiB`, `80GB`, `16g`, `17179869184`; None when it is no size."""
    match = _SIZE.fullmatch(word.strip())
    unit = _UNITS.get(match[2].lower()) if match else None
    return int(float(match[1]) * unit) if match and unit is not None else None
