"""`premortem ckpt VERB`. To add a verb: write its file and add it to ALL."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from premortem.arguments import Parser, did_you_mean
from premortem.errors import UsageError
from premortem.vault.verbs.adopt import ADOPT
from premortem.vault.verbs.base import Verb
from premortem.vault.verbs.diff import DIFF
from premortem.vault.verbs.inspect import INSPECT
from premortem.vault.verbs.list import LIST
from premortem.vault.verbs.prove import PROVE
from premortem.vault.verbs.restore import RESTORE
from premortem.vault.verbs.verify import VERIFY

ALL: dict[str, Verb] = {
    "list": LIST,
    "inspect": INSPECT,
    "verify": VERIFY,
    "diff": DIFF,
    "restore": RESTORE,
    "adopt": ADOPT,
    "prove": PROVE,
}


def ckpt_parser() -> Parser:
    made = Parser(
        prog="premortem ckpt",
        usage="premortem ckpt VERB ...",
        description="Checkpoints that cannot be lost, torn or poisoned: look at them, verify them, bring them back.",
        epilog="verbs:\n" + "".join(f"  {name:<9} {verb.about}\n" for name, verb in ALL.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("verb", nargs="?", metavar="|".join(ALL), help="see `premortem ckpt VERB --help`")
    made.add_argument("paths", nargs="*", metavar="PATH", help="what the verb is about")
    return made


def ckpt(tokens: Sequence[str]) -> int:
    """Run a verb; returns the exit code."""
    if not tokens:
        ckpt_parser().print_help(sys.stderr)
        return 2
    first, *rest = tokens
    if first in ALL:
        return ALL[first].call(rest)
    if first.startswith("-"):
        ckpt_parser().parse(tokens)
    hint = did_you_mean(first, ALL) or f"there are {', '.join(ALL)}"
    raise UsageError(f"`premortem ckpt` has no verb `{first}`; {hint}")
