"""Checksums of files that premortem did not write, so that later damage is found.

    .premortem/records/best.pt-1f0c9a.json    a manifest: sha256 and bytes of each file, and what its numbers were like

Nothing is written beside the file itself. A record is looked for in this folder and in those above the file.
"""

from collections.abc import Iterator
from pathlib import Path

from premortem.errors import VaultError
from premortem.files import private
from premortem.vault.kept_versions import slug
from premortem.vault.manifest import Manifest

HOME = ".premortem"
_FOLDER = "records"


def remember(path: Path, manifest: Manifest) -> Path:
    """Write the record of a file or folder. Raises VaultError."""
    folder = made(Path.cwd())
    record = folder / f"{slug(path.resolve())}.json"
    manifest.write(record, ours=True)
    return record


def made(home: Path, *below: str) -> Path:
    """The folder of records in `home`, or one inside it. Git does not see it. Raises VaultError."""
    folder = home.joinpath(HOME, _FOLDER, *below)
    try:
        private.make_folder(folder, within=home / HOME)
        ignore = home / HOME / ".gitignore"
        if not ignore.exists():
            private.write_text(ignore, "*\n")
    except OSError as error:
        raise VaultError(f"{folder} cannot be made ({error.strerror})") from error
    return folder


def recall(path: Path) -> Manifest | None:
    """The record of this very path, if there is one. A damaged record does not count."""
    name = f"{slug(path.resolve())}.json"
    for folder in folders_for(path, Path.cwd()):
        record = folder / HOME / _FOLDER / name
        if record.is_file():
            try:
                return Manifest.read(record)
            except VaultError:
                continue
    return None


def folders_for(path: Path, home: Path) -> Iterator[Path]:
    """Where a record of this path may be: in `home`, and above the file."""
    yield home
    yield from (folder for folder in path.resolve().parents if folder != home)
