from collections.abc import Iterable

from premortem.amounts import some
from premortem.preflight.environment.modules import Stale
from premortem.preflight.unit import Card, Check, Findings, Severity, Where


class SourceChangedSinceImport(Check):
    """A module in memory is older than its source on the disk.

    ## Why it matters
    A notebook keeps what it has imported. After an edit or `git pull` the old functions go on running, and the run that
    was to show the fix shows the old bug.

    ## Usual causes
    An edit, a `git pull` or a branch switch after the first `import`.

    ## What to do
    Restart the kernel. `importlib.reload` renews the module, but not the objects that were made from its old classes.

    ## When it stays silent
    When only comments or line numbers have changed, and for modules outside the working folder. A constant
    (`LR = 1e-3`) is not noticed once another process has imported the edited file.
    """

    card = Card("PM612", "source-changed-since-import", "environment", Severity.WARNING)

    def look(self, facts: Iterable[Stale]) -> Findings:
        for stale in facts:
            names = [name for name in stale.changed if name]
            what = f"{some(names)} changed" if names else "the file is gone"
            yield self.finding(
                f"`{stale.name}` in memory is not what is on the disk: {what} since it was imported",
                cause="The file was edited or replaced after the import; Python does not look again.",
                remedy="Restart the kernel or the process.",
                where=Where(stale.file),
                changed=[name for name in stale.changed if name] or None,
            )
