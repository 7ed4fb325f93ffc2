"""One file for each format. To add one: write its file and add it to ALL.

A reader runs nothing of what it reads. It raises `Damaged` to say what is wrong with a file, and `MissingLibrary` when a
package is needed that is not here.
"""

from pathlib import Path
from types import ModuleType

from premortem.files import untrusted
from premortem.preflight.data import names
from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers import (
    array,
    audio,
    csv_table,
    hdf5,
    image,
    parquet,
    raw,
    sqlite,
    tar,
    tensor,
    text,
    zip_shard,
)
from premortem.preflight.data.readers.around import Around, Damaged, MissingLibrary

# Each is a module with `SUFFIXES` and `read(path, relative, around)`, which yields looks.
ALL: tuple[ModuleType, ...] = (
    image,
    array,
    tensor,
    csv_table,
    parquet,
    tar,
    zip_shard,
    hdf5,
    audio,
    text,
    raw,
    sqlite,
)
BY_SUFFIX: dict[str, ModuleType] = {suffix: reader for reader in ALL for suffix in reader.SUFFIXES}


def read(path: Path, relative: str, around: Around) -> list[Look]:
    """Everything one file says. Raises MissingLibrary."""
    reader = BY_SUFFIX.get(names.suffix(path.name))
    if reader is None:
        return []
    found: list[Look] = []
    problem = ""
    try:
        untrusted.opened(path).close()  # a pipe would be waited for
        found.extend(reader.read(path, relative, around))
    except MissingLibrary:
        raise
    except Damaged as damage:
        problem = str(damage)
    except OSError as error:
        found, problem = [], f"it cannot be read ({error.strerror or error})"
    except Exception as error:  # noqa: BLE001 - a stranger's bytes are wrong in more ways than a library foresees
        found, problem = [], f"it cannot be read ({type(error).__name__}: {str(error)[:120]})"
    return [*found, Look(path=relative, kind=names.kind(path.name), problem=problem)] if problem else found


def reads(name: str) -> bool:
    return names.suffix(name) in BY_SUFFIX
