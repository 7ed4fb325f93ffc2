"""How the words of a command line are taken apart, and the answer to a wrong one."""

import argparse
import difflib
import importlib.util
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from premortem.amounts import is_number
from premortem.errors import MissingExtra, UsageError


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
        hint = did_you_mean(word, self.options) or advice or f"see `{self.prog} --help`"
        return UsageError(f"`{self.prog}` has no option `{word}`; {hint}")

    def parse(self, tokens: Sequence[str]) -> argparse.Namespace:
        options, extra = self.parse_known_args(tokens)
        if extra:
            raise self.unknown(extra[0])
        return options


class Command(NamedTuple):
    """What `premortem run` was asked to run."""

    options: list[str]  # premortem's own
    target: str
    module: bool
    argv: list[str]  # the script's own

    @property
    def folder(self) -> Path:
        """Where the settings of its project are looked for."""
        here = Path(self.target).parent if self.target and not self.module else Path()
        return here.absolute()

    def needs_a_script(self, verb: str, instead: str = "") -> None:
        """Raises UsageError where none is named. `instead`: what can be asked without one."""
        if self.module and (not self.target or self.target.startswith("-")):
            raise UsageError(f"`-m` needs the name of a module: premortem {verb} -m package.module")
        if not self.target:
            raise UsageError(f"which script? premortem {verb} train.py{instead}")


def starting_a_script(parser: Parser) -> None:
    """The last options of every verb that starts the user's script."""
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    parser.add_argument("-m", action="store_true", help="the name is a module's, as in `python -m`")


def limited(parser: Parser, seconds: float | None, words: str = "the longest one launch may take") -> None:
    """The option of every verb that starts the user's script several times."""
    parser.add_argument("--seconds", type=_above_zero, default=seconds, metavar="S", help=words)


def _above_zero(word: str) -> float:
    seconds = float(word)
    if not seconds > 0:
        raise UsageError("`--seconds` must be more than 0")
    return seconds


def not_over_code(options: argparse.Namespace, *names: str) -> None:
    """Raises UsageError where the name of a file was forgotten, and the script was taken for it."""
    for name in names:
        file = getattr(options, name)
        if file is not None and file.suffix == ".py":
            kind = ".svg" if name == "picture" else ".json"
            raise UsageError(f"`--{name} {file}` would overwrite a Python file; give it a {kind} file")


class _Format(argparse.Action):
    """`--format json` prints what `--json FILE` would write, and nothing else."""

    def __call__(self, parser: Any, given: argparse.Namespace, value: Any, option: str | None = None) -> None:
        if value not in {"text", "json"}:
            raise UsageError(f"there is no format `{value}`; there are text and json")
        given.format = value
        if value == "json":
            given.json, given.quiet = Path("-"), True


def formatted(parser: Parser) -> None:
    """The option of every verb whose page can be had as JSON."""
    words = "json prints what other programs read, and nothing else (default: text)"
    parser.add_argument("--format", action=_Format, default="text", metavar="text|json", help=words)


def silencing(parser: Parser) -> None:
    """The options of every verb that reports findings."""
    words = "codes, names or families, with commas"
    parser.add_argument("--select", action="append", metavar="FINDINGS", help=f"report only these: {words}")
    parser.add_argument("--ignore", action="append", metavar="FINDINGS", help="do not report these")


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
        if parser.options[name].nargs == "?" and not has_value:
            if rest and rest[0].endswith(".json"):  # anything else is the script
                own.append(rest.popleft())
        elif parser.options[name].nargs != 0 and not has_value:
            if not rest or rest[0].startswith("-"):
                raise UsageError(f"`{name}` needs a value: {name} {parser.options[name].metavar}")
            own.append(rest.popleft())
    return _command(own, [], module=False)


def _command(own: list[str], words: Iterable[str], *, module: bool) -> Command:
    target, *argv = [*words] or [""]
    return Command(own, target, module, argv)


def without(options: Sequence[str], name: str) -> list[str]:
    """Words of a command line without one option and its value."""
    kept: list[str] = []
    words = iter(options)
    for word in words:
        if word == name:
            next(words, None)
        elif not word.startswith(f"{name}="):
            kept.append(word)
    return kept


def arguments(argv: Sequence[str]) -> dict[str, str]:
    """What a script was given: `train.py --lr 0.1 --fast` is --lr 0.1 and --fast given; `model.width=64`, as Hydra takes it,
    is model.width 64."""
    found: dict[str, str] = {}
    pending, place = "", 0
    for word in argv[2 if argv[:1] == ["-m"] else 1 :]:
        name, equals, text = word.partition("=")
        if word.startswith("-") and not is_number(word):
            found[name] = text if equals else "given"
            pending = "" if equals else name
        elif pending:
            found[pending] = word
            pending = ""
        elif equals and name.lstrip("+~").replace(".", "_").replace("/", "_").isidentifier():
            found[name.lstrip("+~")] = text
        else:
            place += 1
            found[f"argument {place}"] = word
    return found


def did_you_mean(word: str, known: Iterable[str]) -> str:
    # Without their dashes, which all options share and which would make them look alike.
    bare = {name.lstrip("-"): name for name in known}
    near = difflib.get_close_matches(word.lstrip("-"), bare, n=1, cutoff=0.65)
    return f"did you mean `{bare[near[0]]}`?" if near else ""


def needs_torch(part: str) -> None:
    if importlib.util.find_spec("torch") is None:
        raise MissingExtra(part, "torch")
