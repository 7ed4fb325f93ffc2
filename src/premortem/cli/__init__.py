"""The command `premortem VERB ...`. Each verb lives in its room and is imported when it is called.

What goes wrong in how premortem was called is one sentence on stderr and exit code 2.
"""

import argparse
import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext

from premortem import __version__, redaction
from premortem.cli.verbs import VERBS
from premortem.command_line import Parser, did_you_mean
from premortem.errors import PremortemError, UsageError
from premortem.terminal.interruption import exit_code, interruptible

__all__ = ["FAILURE", "USAGE_ERROR", "VERBS", "main", "top_parser"]

USAGE_ERROR = 2
FAILURE = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb; returns the exit code."""
    tokens = list(sys.argv[1:] if argv is None else argv)
    redaction.argv(tokens)  # what is secret in it is known from here on
    try:
        # In `run` the script has its own idea of signals, and premortem saves before they end it.
        with nullcontext() if tokens[:1] == ["run"] else interruptible():
            return _dispatch(tokens)
    except KeyboardInterrupt as error:
        if tokens[:1] == ["run"]:
            raise
        return exit_code(error)
    except PremortemError as error:
        from premortem.terminal.console import Console

        Console().refuse(str(error))
        return USAGE_ERROR if isinstance(error, UsageError) else FAILURE
    except Exception:  # noqa: BLE001 - a bug: as Python would print it, but for what a library's message may show
        sys.stderr.write(redaction.redacted(traceback.format_exc()))
        return FAILURE


def _dispatch(tokens: list[str]) -> int:
    if not tokens:
        top_parser().print_help(sys.stderr)
        return USAGE_ERROR
    first, *rest = tokens
    if first.startswith("-"):
        top_parser().parse(tokens)
    if first in VERBS:
        return VERBS[first].call(rest)
    if first.endswith(".py"):
        raise UsageError(f"there is no verb `{first}`; did you mean `premortem run {first}`?")
    hint = did_you_mean(first, VERBS) or f"there are {', '.join(VERBS)}"
    raise UsageError(f"there is no verb `{first}`; {hint}")


def top_parser() -> Parser:
    parser = Parser(
        prog="premortem",
        usage="premortem VERB ...",
        description="The post-mortem of your training run, before it dies.",
        epilog="verbs:\n" + "".join(f"  {name:<11} {verb.about}\n" for name, verb in VERBS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"premortem {__version__}")
    return parser
