from premortem import redaction
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity
from premortem.redaction.names import hides


class KeyStandsTwice(Check):
    """A key stands twice in one block of a configuration file, with two values.

    ## Why it matters
    Readers keep the last one without a word: the value that is seen first is not the one that is used.

    ## Usual causes
    A line that was copied for a trial; two files that were merged.

    ## What to do
    Remove one of them.

    ## When it stays silent
    Where both values are the same; for files that the script does not name or open.
    """

    card = Card("PM729", "key-stands-twice", "config", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for path, key, lost, used in root.doubled:
            if facts.reads(path):
                first, last = said(key, lost), said(key, used)
                yield self.finding(
                    f"`{key}` stands twice in `{path}`: {first} and {last}",
                    cause=f"Readers keep the last one: {last} is used, and the other value is ignored.",
                    remedy="Remove one of the two lines.",
                    file=path,
                    key=key,
                )


def said(key: str, value: str) -> str:
    """The value, unless its name makes it a secret: a sentence about it is no longer a setting that can be recognised for one."""
    if value[:1] in {"{", "["}:
        return "..."
    if hides(key, value):
        return redaction.HIDDEN
    return redaction.redacted(f"{key}: {value}").removeprefix(f"{key}: ")[:40]
