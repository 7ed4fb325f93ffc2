"""The ways a checkpoint is written, one file each. To add one: write its file and add it to ALL.

A folder or file belongs to the first format that recognises it.
"""

from pathlib import Path
from typing import Protocol

from premortem.vault.blocks import head_of
from premortem.vault.contents import Contents
from premortem.vault.formats.bundle import Bundle
from premortem.vault.formats.distributed import Distributed
from premortem.vault.formats.legacy import Legacy
from premortem.vault.formats.safetensor import Safetensors
from premortem.vault.formats.sharded import Sharded
from premortem.vault.formats.vaulted import Vaulted
from premortem.vault.formats.zipped import Zipped


class Format(Protocol):
    """A way to write a checkpoint. Recognising looks at the first bytes and at names, never at an extension alone."""

    @staticmethod
    def recognises(path: Path) -> bool: ...
    @staticmethod
    def open(path: Path) -> Contents: ...


ALL: tuple[type[Format], ...] = (Vaulted, Distributed, Bundle, Sharded, Zipped, Safetensors, Legacy)


def stranger(path: Path) -> str:
    """Why nothing recognised it, as the end of a sentence."""
    if path.is_dir():
        return "is a folder without a checkpoint in it that premortem knows"
    head = head_of(path, 512)
    if not head:
        return "is empty: nothing was written, or it never reached the disk"
    if not head.strip(b"\x00"):
        return "begins with zeros: its bytes never reached the disk"
    if head[:2] == b"\x1f\x8b":
        return "is packed with gzip; unpack it first"
    if head[257:262] == b"ustar":
        return "is a tar archive, which torch has not written since 0.1; load it with an old torch and save it again"
    if head.startswith(b"version https://git-lfs"):
        return "is only a pointer of git-lfs; `git lfs pull` brings the file itself"
    if head.lstrip()[:1] == b"<":
        return "is a web page, not a checkpoint: a download went wrong"
    if head.startswith(b"\x89HDF"):
        return "is an HDF5 file, not a checkpoint of torch"
    return "is not a checkpoint that premortem knows: its first bytes fit no format"
