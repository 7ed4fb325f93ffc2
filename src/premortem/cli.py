"""The door: `premortem VERB ...`. Each verb imports its room when it is called.

What goes wrong in how premortem was called is one sentence on stderr and exit code 2.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from premortem import __version__, policy
from premortem.errors import PremortemError, UsageError

USAGE_ERROR = 2
FAILURE = 1
POLICIES = tuple(policy.ALL)


class Parser(argparse.ArgumentParser):
    """argparse, but it knows its options by name and raises instead of leaving the process."""

    def __init__(self, **settings: Any) -> None:
        self.options: dict[str, argparse.Action] = {}
        super().__init__(allow_abbrev=False, **settings)

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        action = super().add_argument(*names, **settings)
        self.options.update(dict.fromkeys(action.option_strings, action))
        return action

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def unknown(self, word: str, advice: str = "") -> UsageError:
        hint = _did_you_mean(word, self.options) or advice or f"see `{self.prog} --help`"
        return UsageError(f"`{self.prog}` has no option `{word}`; {hint}")

    def parse(self, tokens: Sequence[str]) -> argparse.Namespace:
        options, extra = self.parse_known_args(tokens)
        if extra:
            raise self.unknown(extra[0])
        return options


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb; returns the exit code."""
    try:
        return _dispatch(list(sys.argv[1:] if argv is None else argv))
    except PremortemError as error:
        from premortem.console import Console

        Console().problem(str(error))
        return USAGE_ERROR if isinstance(error, UsageError) else FAILURE


def _dispatch(tokens: list[str]) -> int:
    if not tokens:
        _top_parser().print_help(sys.stderr)
        return USAGE_ERROR
    first, *rest = tokens
    if first.startswith("-"):
        _top_parser().parse(tokens)
    if first in VERBS:
        return VERBS[first].call(rest)
    if first.endswith(".py"):
        raise UsageError(f"there is no verb `{first}`; did you mean `premortem run {first}`?")
    hint = _did_you_mean(first, VERBS) or f"there are {', '.join(VERBS)}"
    raise UsageError(f"there is no verb `{first}`; {hint}")


def _top_parser() -> Parser:
    parser = Parser(
        prog="premortem",
        usage="premortem VERB ...",
        description="The post-mortem of your training run, before it dies.",
        epilog="verbs:\n" + "".join(f"  {name:<9} {verb.about}\n" for name, verb in VERBS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"premortem {__version__}")
    return parser


# --- run -------------------------------------------------------------------------------------


class Command(NamedTuple):
    """What `premortem run` was asked to run."""

    options: list[str]  # premortem's own
    target: str
    module: bool
    argv: list[str]  # the script's own


def run_parser() -> Parser:
    parser = Parser(
        prog="premortem run",
        usage="premortem run [options] script.py ARGS...\n       premortem run [options] -m module ARGS...",
        description="Run a training script under supervision. Whatever follows its name belongs to the script.",
    )
    parser.add_argument(
        "--findings", type=Path, metavar="FILE.json", help="write what was found to this file"
    )
    parser.add_argument(
        "--policy",
        default="protect",
        metavar="|".join(POLICIES),
        help="protect refuses updates that would ruin the weights (default), "
        "observe only reports, strict stops at the first error",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="keep the journal here")
    parser.add_argument("-m", action="store_true", help="the name is a module's, as in `python -m`")
    return parser


def split(parser: Parser, tokens: Sequence[str]) -> Command:
    """Cut premortem's options from the script and its arguments.

    By hand, because argparse looks for its own options among the script's.
    """
    own: list[str] = []
    rest = deque(tokens)
    while rest:
        word = rest.popleft()
        if word == "--":
            return _command(own, rest, module=False)
        if word.startswith("-m"):
            glued = [word[2:]] if word[2:] else []
            return _command(own, [*glued, *rest], module=True)
        if not word.startswith("-"):
            return _command(own, [word, *rest], module=False)
        own.append(word)
        name, has_value, _value = word.partition("=")
        if name not in parser.options:
            raise parser.unknown(name, "options of your script go after its name")
        if parser.options[name].nargs != 0 and not has_value:
            if not rest or rest[0].startswith("-"):
                raise UsageError(f"`{name}` needs a value: {name} {parser.options[name].metavar}")
            own.append(rest.popleft())
    return _command(own, [], module=False)


def _command(own: list[str], words: Iterable[str], *, module: bool) -> Command:
    target, *argv = [*words] or [""]
    return Command(own, target, module, argv)


def run(tokens: Sequence[str]) -> int:
    parser = run_parser()
    command = split(parser, tokens)
    options = parser.parse(command.options)
    if command.module and (not command.target or command.target.startswith("-")):
        raise UsageError("`-m` needs the name of a module: premortem run -m package.module")
    if not command.target:
        raise UsageError("which script? premortem run train.py")
    policy.by_name(options.policy)
    if options.findings and options.findings.suffix == ".py":
        # The name of the file was forgotten, and the script was taken for it.
        raise UsageError(
            f"`--findings {options.findings}` would overwrite a Python file; give it a .json file"
        )

    from premortem import launch

    return launch.run(
        launch.RunOptions(
            target=command.target,
            module=command.module,
            argv=command.argv,
            findings=options.findings,
            policy=options.policy,
            quiet=options.quiet,
            folder=options.folder,
        )
    )


# --- lint ------------------------------------------------------------------------------------


def lint_parser() -> Parser:
    parser = Parser(
        prog="premortem lint",
        usage="premortem lint [options] PATH...",
        description="Read training code and configs for what goes wrong later. Never imports torch.",
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders")
    parser.add_argument(
        "--format", default="text", metavar="text|json", help="how to print what was found (default: text)"
    )
    return parser


def lint(tokens: Sequence[str]) -> int:
    options = lint_parser().parse(tokens)

    from premortem.lint import verb

    return verb.run(options)


# --- explain ---------------------------------------------------------------------------------


def explain_parser() -> Parser:
    parser = Parser(
        prog="premortem explain",
        usage="premortem explain CODE|NAME...\n       premortem explain --all",
        description="What a finding means, why it matters and what to do.",
    )
    parser.add_argument("words", nargs="*", metavar="CODE|NAME", help="as a finding shows them")
    parser.add_argument("--all", action="store_true", help="the whole catalog")
    return parser


def explain(tokens: Sequence[str]) -> int:
    from premortem import catalog

    parser = explain_parser()
    options = parser.parse(tokens)
    if not options.words and not options.all:
        raise UsageError("which finding? premortem explain CODE|NAME, or --all")
    chosen = catalog.entries() if options.all else tuple(map(catalog.lookup, options.words))
    _show([entry.page for entry in chosen])
    return 0


def _show(pages: Sequence[str]) -> None:
    """Rendered for a person at a terminal; as it is for a pipe."""
    try:
        if sys.stdout.isatty():
            _render(pages)
        else:
            sys.stdout.write("\n".join(pages))
        sys.stdout.flush()
    except BrokenPipeError:
        # `premortem explain --all | head`: the reader has seen enough. Python would complain
        # once more when it closes stdout, so that goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _render(pages: Sequence[str]) -> None:
    from rich.console import Console as Terminal
    from rich.markdown import Markdown
    from rich.text import Text

    terminal = Terminal(highlight=False)
    for text in pages:
        head, _blank, body = text.partition("\n\n")
        terminal.print(Text(head, "bold"), Markdown(body), sep="\n\n", end="\n\n")


# --- demo ------------------------------------------------------------------------------------


def demo_parser() -> Parser:
    return Parser(
        prog="premortem demo",
        usage="premortem demo",
        description="Watch premortem find a bug that raises nothing, in under a minute.",
    )


def demo(tokens: Sequence[str]) -> int:
    demo_parser().parse(tokens)

    from premortem import demo as room

    return room.show()


# --- the verbs -------------------------------------------------------------------------------


class Verb(NamedTuple):
    about: str
    parser: Callable[[], Parser]
    call: Callable[[Sequence[str]], int]


VERBS: dict[str, Verb] = {
    "run": Verb("run a training script under supervision", run_parser, run),
    "lint": Verb("read training code and configs before they run", lint_parser, lint),
    "explain": Verb("what a finding means and what to do", explain_parser, explain),
    "demo": Verb("see premortem at work in one minute", demo_parser, demo),
}


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    # Without their dashes, which all options share and which would make them look alike.
    bare = {name.lstrip("-"): name for name in known}
    near = difflib.get_close_matches(word.lstrip("-"), bare, n=1, cutoff=0.65)
    return f"did you mean `{bare[near[0]]}`?" if near else ""
