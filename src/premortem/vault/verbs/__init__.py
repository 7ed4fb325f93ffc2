"""`premortem ckpt VERB`. To add a verb: write its file and add it to VERBS."""

import argparse
import sys
from collections.abc import Sequence

from premortem.command_line import Parser, did_you_mean
from premortem.errors import UsageError
from premortem.vault.verbs.adopt import ADOPT
from premortem.vault.verbs.base import Verb
from premortem.vault.verbs.diff import DIFF
from premortem.vault.verbs.inspect import INSPECT
from premortem.vault.verbs.list import LIST
from premortem.vault.verbs.prove import PROVE
from premortem.vault.verbs.restore import RESTORE
from premortem.vault.verbs.verify import VERIFY

VERBS: dict[str, Verb] = {
    "list": LIST,
    "inspect": INSPECT,
    "verify": VERIFY,
    "diff": DIFF,
    "restore": RESTORE,
    "adopt": ADOPT,
    "prove": PROVE,
}


def parser() -> Parser:
    made = Parser(
        prog="premortem ckpt",
        usage="premortem ckpt VERB ...",
        description="Look at checkpoints, verify them, and restore them.",
        epilog="verbs:\n" + "".join(f"  {name:<9} {verb.about}\n" for name, verb in VERBS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("verb", nargs="?", metavar="|".join(VERBS), help="see `premortem ckpt VERB --help`")
    made.add_argument("paths", nargs="*", metavar="PATH", help="what the verb is about")
    return made


def call(tokens: Sequence[str]) -> int:
    """Run a verb; returns the exit code."""
    if not tokens:
        parser().print_help(sys.stderr)
        return 2
    first, *rest = tokens
    if first in VERBS:
        return VERBS[first].call(rest)
    if first.startswith("-"):
        parser().parse(tokens)
    hint = did_you_mean(first, VERBS) or f"there are {', '.join(VERBS)}"
    raise UsageError(f"`premortem ckpt` has no verb `{first}`; {hint}")
