"""Reports about a file as a whole. They have cards and pages like rules, but the engine makes them."""

from premortem.cards import Card
from premortem.findings import Severity


class UnreadableFile:
    """The file is not Python that this version can read, so nothing else in it was checked.

    ## Why it matters
    What cannot be parsed cannot be checked. Other files are not affected.

    ## Usual causes
    - Python 2 code
    - a file cut off in the middle, or with the marks of an unfinished merge
    - syntax that is newer than the Python that runs premortem
    - an encoding other than the one the file declares

    ## What to do
    Fix the syntax, or exclude the file: `exclude = ["old/*.py"]` in `[tool.premortem.lint]`.

    ## When it is only a remark
    For files that are written for another Python, JSON with comments, cells of notebooks, configs that were found in a folder
    (not those that were named), and files too large to be written by hand. With `--strict-files` a file that was not read
    ends the run with 1 all the same.
    """

    card = Card("PM590", "unreadable-file", "environment", Severity.WARNING)


class UnknownIgnore:
    """A comment `# premortem: ignore[...]` names a rule that does not exist, so it silences nothing.

    ## Why it matters
    The comment does not do what its author wanted: the report is still there, or it had another code.

    ## Usual causes
    A misspelled code or name, or the beginning of a code: a comment needs whole codes, unlike `--ignore`.

    ## What to do
    Write the code or the name that the report shows, or take the comment away. `premortem explain --all` lists them.
    """

    card = Card("PM591", "unknown-ignore", "environment", Severity.INFO)


class RuleFailed:
    """A rule of premortem broke on this file. What the other rules say about it still holds.

    ## Why it matters
    What this rule would have found in this file is not reported.

    ## Usual causes
    A fault in premortem.

    ## What to do
    Report it with the line that is named, and go on with `--ignore` and the rule's code.
    """

    card = Card("PM599", "rule-failed", "environment", Severity.INFO)


ALL: tuple[type[UnreadableFile | UnknownIgnore | RuleFailed], ...] = (
    UnreadableFile,
    UnknownIgnore,
    RuleFailed,
)
