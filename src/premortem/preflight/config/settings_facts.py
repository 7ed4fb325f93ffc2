"""What is known of the settings: plain values, so that checks can be tried with any project."""

from dataclasses import dataclass, field
from pathlib import Path

from premortem.configs.places import key_name
from premortem.findings import Where
from premortem.preflight.config.keys import Reads
from premortem.preflight.options import Option


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One value of a config, or of an option of the command line."""

    key: tuple[str, ...]
    text: str
    plain: bool  # without quotes, so that a loader decides on its type
    where: Where

    @property
    def name(self) -> str:
        return key_name(self.key)

    @property
    def shown(self) -> str:
        return ".".join(self.key)


@dataclass(frozen=True, kw_only=True)
class File:
    """A config that the script uses."""

    path: Path
    settings: tuple[Setting, ...] = ()
    problem: str = ""  # why it cannot be read
    where: Where = field(default_factory=Where)  # of the problem
    named: Where = field(default_factory=Where)  # where the code names it, or nothing does
    given: bool = False  # on the command line
    missing: bool = False


@dataclass(kw_only=True)
class Facts:
    folders: tuple[Path, ...] = ()  # that relative paths may mean
    files: list[File] = field(default_factory=list)
    options: dict[str, Option] = field(default_factory=dict)
    reads: Reads = field(default_factory=Reads)
    loaders: frozenset[str] = frozenset()  # "pyyaml", "ruamel", "omegaconf", "hydra", "typed", …
    asks_first: bool = False  # some file asks whether a path exists
    fetches: bool = False  # some file downloads or makes what it reads
    world: int | None = None  # processes, where a launcher says so

    @property
    def converts(self) -> bool:
        """What reads the settings turns text into the types it wants."""
        return bool(self.loaders & {"typed", "jsonargparse", "yacs", "mmengine"})
