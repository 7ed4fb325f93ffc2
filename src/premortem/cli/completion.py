"""`premortem completion SHELL`: the script that makes a shell complete verbs, options and files."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from premortem.command_line import Parser, did_you_mean
from premortem.errors import UsageError

SHELLS = ("bash", "zsh", "fish")
INSTALL = {
    "bash": "premortem completion bash > ~/.local/share/bash-completion/completions/premortem",
    "zsh": "premortem completion zsh > ~/.zfunc/_premortem  # a folder of $fpath, before compinit",
    "fish": "premortem completion fish > ~/.config/fish/completions/premortem.fish",
}


class Verb(Protocol):
    """What is needed of a verb."""

    @property
    def about(self) -> str: ...
    def parser(self) -> argparse.ArgumentParser: ...


class Tree(Verb, Protocol):
    """A verb that may have verbs of its own."""

    def below(self) -> Mapping[str, Verb]: ...


def parser() -> Parser:
    made = Parser(
        prog="premortem completion",
        usage="premortem completion bash|zsh|fish",
        description="Print the script that lets a shell complete verbs, options and files.",
    )
    made.add_argument("shell", nargs="?", metavar="bash|zsh|fish", help="the shell to write for")
    return made


def call(tokens: Sequence[str]) -> int:
    shell = parser().parse(tokens).shell

    from premortem import catalog
    from premortem.cli import top_parser
    from premortem.cli.explain import show
    from premortem.cli.verbs import VERBS

    if shell not in SHELLS:
        known = f"there are {', '.join(SHELLS)}"
        hint = (did_you_mean(shell, SHELLS) or known) if shell else f"which shell? {known}"
        raise UsageError(f"`premortem completion`: {hint}")
    if sys.stdout.isatty():
        sys.stderr.write(f"# to install it: {INSTALL[shell]}\n")
    words = [word for entry in catalog.entries() for word in (entry.card.code, entry.card.name)]
    show([script(shell, VERBS, top_parser(), words)], rendered=False)
    return 0


def script(shell: str, verbs: Mapping[str, Tree], top: argparse.ArgumentParser, codes: Sequence[str]) -> str:
    """Written from the parsers themselves, so that it cannot know less or more than they do."""
    import shtab

    whole = argparse.ArgumentParser(prog="premortem", parents=[top], add_help=False)
    first = whole.add_subparsers()
    for name, verb in verbs.items():
        below = verb.below()
        if not below:
            _add(first, name, verb, codes)
            continue
        second = first.add_parser(name, help=verb.about).add_subparsers()
        for word, each in below.items():
            _add(second, word, each, codes)
    text: str = shtab.complete(whole, shell=shell)
    return text if text.endswith("\n") else f"{text}\n"


def _add(group: Any, name: str, verb: Verb, codes: Sequence[str]) -> None:
    import shtab

    own = verb.parser()
    parser = group.add_parser(name, parents=[own], add_help=False, help=verb.about)
    if "script.py" in (own.usage or ""):
        # The script and its arguments are cut off by hand, before argparse sees them.
        parser.add_argument("script", nargs=argparse.REMAINDER, metavar="PATH")
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to its arguments
        word = action.metavar if isinstance(action.metavar, str) else ""
        if word in {"PATH", "FILE.json"}:
            action.complete = shtab.FILE
        elif word == "DIR":
            action.complete = shtab.DIRECTORY
        elif word == "CODE|NAME":
            action.choices = codes
        elif "|" in word:
            action.choices = word.split("|")
