"""What premortem raises.

    Exception
    └── PremortemError         something a person can put right; the text is a sentence for them
        ├── UsageError         premortem was called wrongly (exit code 2)
        ├── ConfigError        a configuration cannot be read, or does not fit its schema
        ├── JournalError       a journal cannot be read
        ├── VaultError         a checkpoint cannot be read, written or trusted
        │   └── Refused        reading it would run code, or fill the memory
        └── MissingExtra       a part of premortem needs a package that is not installed
    SystemExit
    └── Stopped                a policy ended the run (exit code 3)

`Stopped` is a SystemExit, so that it passes through a training loop's `except Exception`, runs its
`finally` blocks and its atexit handlers, and leaves no traceback.
"""

STOPPED = 3  # exit code of a run that premortem stopped


class PremortemError(Exception):
    """The text is a sentence for a person."""


class UsageError(PremortemError):
    """premortem was called wrongly."""


class ConfigError(PremortemError):
    """A configuration cannot be read, or does not fit what the program wants; the text names file, line and key."""


class JournalError(PremortemError):
    """A journal is missing, damaged, or of another version."""


class VaultError(PremortemError):
    """A checkpoint cannot be read, written or trusted. `record` names the damaged part where one is known."""

    def __init__(self, sentence: str, *, record: str = "") -> None:
        super().__init__(sentence)
        self.record = record


class Refused(VaultError):  # noqa: N818 - reads as what it says: the file was refused
    """A checkpoint was not opened: it asks to run code, or to unpack without end."""


class MissingExtra(PremortemError):  # noqa: N818 - reads as what it says: "missing extra: torch"
    """A part of premortem needs a package that is not installed."""

    def __init__(self, part: str, extra: str) -> None:
        super().__init__(f"{part} needs more than the base package: pip install 'premortem[{extra}]'")
        self.extra = extra


class Stopped(SystemExit):
    """A policy decided to end the run."""

    code: int

    def __init__(self, reason: str = "") -> None:
        super().__init__(STOPPED)
        self.reason = reason
