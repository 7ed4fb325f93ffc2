"""The door: `premortem VERB ...`. Each verb imports its room when it is called.

What goes wrong in how premortem was called is one sentence on stderr and exit code 2.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from premortem import __version__, policy, private, redaction
from premortem.arguments import Parser, did_you_mean, split
from premortem.errors import MissingExtra, PremortemError, UsageError

if TYPE_CHECKING:
    from premortem.sinks.base import Sink
    from premortem.vault.verbs import base

USAGE_ERROR = 2
FAILURE = 1
POLICIES = tuple(policy.ALL)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb; returns the exit code."""
    tokens = list(sys.argv[1:] if argv is None else argv)
    redaction.argv(tokens)  # what is secret in it is known from here on
    try:
        return _dispatch(tokens)
    except PremortemError as error:
        from premortem.console import Console

        Console().refuse(str(error))
        return USAGE_ERROR if isinstance(error, UsageError) else FAILURE
    except Exception:  # noqa: BLE001 - a bug: as Python would print it, but for what a library's message may show
        sys.stderr.write(redaction.redacted(traceback.format_exc()))
        return FAILURE


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
    hint = did_you_mean(first, VERBS) or f"there are {', '.join(VERBS)}"
    raise UsageError(f"there is no verb `{first}`; {hint}")


def _top_parser() -> Parser:
    parser = Parser(
        prog="premortem",
        usage="premortem VERB ...",
        description="The post-mortem of your training run, before it dies.",
        epilog="verbs:\n" + "".join(f"  {name:<11} {verb.about}\n" for name, verb in VERBS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"premortem {__version__}")
    return parser


# --- run -------------------------------------------------------------------------------------


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
    parser.add_argument("--no-status", action="store_true", help="no line about the run on the terminal")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="keep the journal here")
    parser.add_argument(
        "--autopsy", action="store_true", help="when premortem stops the run, replay the step that failed"
    )
    parser.add_argument(
        "--mirror", metavar="URL", help="copy checkpoints there too: a folder, s3://, gs://, ssh://, hf://"
    )
    parser.add_argument(
        "--deadline",
        metavar="9h|17:30|slurm|kaggle|colab|auto",
        help="save and stop in time before this",
    )
    parser.add_argument(
        "--sink",
        action="append",
        default=[],
        metavar="tensorboard:DIR|mlflow|wandb",
        help="mark findings on the run over there too; may be given more than once",
    )
    parser.add_argument(
        "--notify",
        action="append",
        default=[],
        metavar="URL|mailto:ADDRESS|COMMAND",
        help="send findings and the end of the run to a webhook, by e-mail or to a shell command",
    )
    parser.add_argument(
        "--nproc", metavar="N|gpu", help="start so many ranks with torchrun, each of them watched"
    )
    parser.add_argument(
        "--max-restarts",
        metavar="N",
        help="with --nproc: how often all ranks are started again after one has failed",
    )
    parser.add_argument("-m", action="store_true", help="the name is a module's, as in `python -m`")
    return parser


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

    deadline = None
    if options.deadline is not None:
        from premortem.vault.deadline import parse

        deadline = parse(options.deadline)
    if options.mirror is not None:
        from premortem.vault.remote import Remote

        Remote(options.mirror).check()

    if options.nproc is not None:
        from premortem import torchrun
        from premortem.arguments import without

        own = without(without(command.options, "--nproc"), "--max-restarts")
        program = [*(["-m"] if command.module else []), command.target, *command.argv]
        restarts = options.max_restarts or "0"
        look = functools.partial(_autopsy, quiet=options.quiet) if options.autopsy else None
        return torchrun.run(
            options.nproc, restarts, own, program, options.folder, quiet=options.quiet, autopsy=look
        )
    if options.max_restarts is not None:
        raise UsageError("`--max-restarts` is for several ranks; give `--nproc` too, or use torchrun's own")

    sinks: list[Sink] = []
    if options.sink or options.notify:
        from premortem.sinks import chosen

        sinks = chosen(options.sink, options.notify)

    from premortem import launch

    return launch.run(
        launch.RunOptions(
            target=command.target,
            module=command.module,
            argv=command.argv,
            findings=options.findings,
            policy=options.policy,
            quiet=options.quiet,
            status=not options.no_status,
            folder=options.folder,
            autopsy=options.autopsy,
            mirror=_absolute(options.mirror),
            deadline=deadline,
            sinks=sinks,
        )
    )


def _autopsy(folder: Path, *, quiet: bool) -> None:
    from premortem import launch
    from premortem.console import Console

    launch.autopsy([folder] if any(folder.glob("rank-*/**/capsule.json")) else [], Console(mute=quiet))


def _absolute(url: str | None) -> str | None:
    """A folder stays the same one when the script goes to another."""
    return str(Path(url).absolute()) if url is not None and "://" not in url else url


# --- check -----------------------------------------------------------------------------------


def check_parser() -> Parser:
    parser = Parser(
        prog="premortem check",
        usage="premortem check [options] script.py ARGS...\n       premortem check [options] -m module ARGS...\n"
        "       premortem check --data DIR",
        description="A dress rehearsal: environment, configuration, data, then a few real steps of the script, a save and a "
        "resume. What the script writes is thrown away: nothing of yours is touched.",
    )
    add = parser.add_argument
    add(
        "--data",
        action="append",
        metavar="DIR",
        help="look at the samples in this folder; can be given again",
    )
    add("--steps", type=int, default=5, metavar="N", help="optimizer steps of the rehearsal (default: 5)")
    add("--deadline", metavar="9h|17:30|slurm|kaggle|colab|auto", help="when the run must be over")
    add("--quota", metavar="30h", help="device time that the run may use up: its time x the devices booked")
    add("--seconds", type=float, default=300.0, metavar="S", help="the longest one launch may take")
    add("--no-rehearsal", action="store_true", help="run nothing of the script's")
    add("--findings", type=Path, metavar="FILE.json", help="write what was found to this file")
    add("--json", type=Path, metavar="FILE.json", help="write the whole page to this file")
    add("--quiet", action="store_true", help="print nothing")
    add("-m", action="store_true", help="the name is a module's, as in `python -m`")
    return parser


def check(tokens: Sequence[str]) -> int:
    parser = check_parser()
    command = split(parser, tokens)
    options = parser.parse(command.options)

    from premortem.preflight import verb

    return verb.run(options, command)


# --- fit -------------------------------------------------------------------------------------


def fit_parser() -> Parser:
    parser = Parser(
        prog="premortem fit",
        usage="premortem fit [options] script.py ARGS...\n       premortem fit [options] -m module ARGS...",
        description="Predict the peak GPU memory of a training script, without a GPU. The script itself runs, for two "
        "optimizer steps, on tensors without contents; what it writes is thrown away.",
    )
    add = parser.add_argument
    add(
        "--device",
        default="h100",
        metavar="NAME|BYTES",
        help="a card, or a size such as 24GiB (default: h100)",
    )
    add("--json", type=Path, metavar="FILE.json", help="write the prediction to this file")
    add("--picture", type=Path, metavar="FILE.svg", help="draw the memory over two steps")
    add("--quick", action="store_true", help="only the prediction: no largest batch, no advice")
    add("--measure", action="store_true", help="where there is a GPU: run it for real too, and compare")
    add("--seconds", type=float, default=300.0, metavar="S", help="the longest one rehearsal may take")
    add(
        "--speed",
        action="store_true",
        help="instead: measure what compile, autocast and others do to the step, here",
    )
    add("--only", action="append", metavar="NAMES", help="with --speed: try only these, with commas")
    add("--steps", type=int, metavar="N", help="with --speed: how many steps the whole run has")
    add("--show-output", action="store_true", help="show what the script prints")
    add("--quiet", action="store_true", help="print nothing")
    add("-m", action="store_true", help="the name is a module's, as in `python -m`")
    return parser


def fit(tokens: Sequence[str]) -> int:
    parser = fit_parser()
    command = split(parser, tokens)
    options = parser.parse(command.options)
    _needs_torch("`premortem fit`")
    if options.speed:
        from premortem.fit.speed import verb as speed

        return speed.run(options, command)

    from premortem.fit import verb

    verb.check(options, command)
    return verb.run(options, command)


def _needs_torch(part: str) -> None:
    if importlib.util.find_spec("torch") is None:
        raise MissingExtra(part, "torch")


# --- drill -----------------------------------------------------------------------------------


def drill_parser() -> Parser:
    parser = Parser(
        prog="premortem drill",
        usage="premortem drill [options] script.py ARGS...\n       premortem drill [options] -m module ARGS...",
        description="Make one mistake after the other in a copy of the script's run, and score which of them premortem "
        "catches. The script is not edited; what it writes is thrown away.",
    )
    add = parser.add_argument
    add("--only", action="append", metavar="NAMES", help="only these mutants, with commas")
    add("--steps", type=int, metavar="N", help="optimizer steps of a run (default: 60 or 5 s; 0: all)")
    add("--seconds", type=float, default=300.0, metavar="S", help="the longest one launch may take")
    add("--jobs", type=int, metavar="N", help="mutants that run at the same time (default: half the cores)")
    add("--json", type=Path, metavar="FILE.json", help="write the score to this file")
    add("--quiet", action="store_true", help="print nothing")
    add("-m", action="store_true", help="the name is a module's, as in `python -m`")
    return parser


def drill(tokens: Sequence[str]) -> int:
    parser = drill_parser()
    command = split(parser, tokens)
    options = parser.parse(command.options)
    _needs_torch("`premortem drill`")

    from premortem.drill import verb

    return verb.run(options, command)


# --- replay ----------------------------------------------------------------------------------


def replay_parser() -> Parser:
    parser = Parser(
        prog="premortem replay",
        usage="premortem replay [options] CAPSULE",
        description="Run a failed step again, op by op, then with one thing changed at a time, until its cause is proved. "
        "The script is started again; what it writes goes to a folder that is thrown away.",
    )
    parser.add_argument(
        "capsule",
        type=Path,
        nargs="?",
        metavar="CAPSULE",
        help="a folder capsules/step-N of a run; of a run, its first one",
    )
    parser.add_argument("--device", metavar="cpu", help="cpu: hide the GPUs from the script")
    parser.add_argument("--cwd", type=Path, metavar="DIR", help="where the script is, if not where it was")
    parser.add_argument(
        "--trust", action="store_true", help="start the command of a capsule that came from elsewhere"
    )
    parser.add_argument(
        "--seconds", type=float, default=600.0, metavar="S", help="the longest one launch may take"
    )
    parser.add_argument(
        "--quick", action="store_true", help="reproduce it and name the operation; try no changes"
    )
    parser.add_argument("--show-output", action="store_true", help="show what the script prints")
    parser.add_argument("--json", type=Path, metavar="FILE.json", help="write what was found to this file")
    return parser


def replay(tokens: Sequence[str]) -> int:
    options = replay_parser().parse(tokens)
    if options.capsule is None:
        raise UsageError("which capsule? premortem replay .premortem/runs/RUN/capsules/step-N")
    if options.device not in {None, "cpu"}:
        raise UsageError(f"a replay cannot move a script to `{options.device}`; there is --device cpu")

    from rich.console import Console as Terminal

    from premortem.replay import director, page

    done = director.replay(
        director.ReplayOptions(
            capsule=options.capsule,
            cwd=options.cwd,
            cpu=options.device == "cpu",
            trust=options.trust,
            quick=options.quick,
            show_output=options.show_output,
            seconds=options.seconds,
        )
    )
    page.show(done, Terminal(highlight=False, markup=False, emoji=False))
    if options.json is not None:
        private.write_text(options.json, page.record(done, options.capsule))
    return 0 if done.report.reproduced else FAILURE


# --- report ----------------------------------------------------------------------------------


def report_parser() -> Parser:
    parser = Parser(
        prog="premortem report",
        usage="premortem report [options] [RUN]\n       premortem report [options] RUN RUN",
        description="What happened in a run, as one page that opens anywhere, or as Markdown. Of two runs: where they part, "
        "and what is different.",
    )
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="a run's folder or journal (default: the newest run of this folder)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE.html|FILE.md|-",
        help="where to (default: report.html beside the journal)",
    )
    parser.add_argument("--format", metavar="html|md", help="when the file's name does not say it")
    return parser


def report(tokens: Sequence[str]) -> int:
    options = report_parser().parse(tokens)

    from premortem.report import verb

    return verb.run(options)


# --- ui --------------------------------------------------------------------------------------


def ui_parser() -> Parser:
    parser = Parser(
        prog="premortem ui",
        usage="premortem ui [options] [DIR]",
        description="All runs of a folder on a local page, live while they train. Only this machine can open it, with the "
        "address that is printed.",
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", metavar="DIR", help="a folder of runs (default: .premortem/runs here)"
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: any that is free")
    return parser


def ui(tokens: Sequence[str]) -> int:
    options = ui_parser().parse(tokens)

    from premortem.ui import verb

    return verb.run(options)


# --- lint ------------------------------------------------------------------------------------


def lint_parser() -> Parser:
    parser = Parser(
        prog="premortem lint",
        usage="premortem lint [options] PATH...",
        description="Read training code and configs for what goes wrong later. Never imports torch.",
    )
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="files or folders (default: this folder)")
    add("--format", default="text", metavar="text|json|sarif|github", help="how to print (default: text)")
    add("--findings", type=Path, metavar="FILE.json", help="write what was found to this file")
    add("--fix", action="store_true", help="mend what can be mended safely")
    add("--unsafe-fixes", action="store_true", help="mend also where the meaning may change: read the diff")
    add("--diff", action="store_true", help="show what --fix would change, and change nothing")
    add(
        "--select", action="append", metavar="RULES", help="only these: codes, names or families, with commas"
    )
    add("--ignore", action="append", metavar="RULES", help="not these")
    add("--preview", action="store_true", help="also rules that are not yet proven on enough code")
    add("--torch", metavar="2.4", help="the torch version the code must run with (default: found out)")
    add("--exclude", action="append", metavar="PATTERN", help="leave out files and folders like this")
    add("--force-exclude", action="store_true", help="leave them out also when they are named themselves")
    add(
        "--per-file-ignores",
        action="append",
        metavar="PATTERN:RULE",
        help="not this rule in files like this, as in ruff",
    )
    add("--strict-files", action="store_true", help="read every config; exit with 1 when a file was not read")
    add("--statistics", action="store_true", help="count what was found instead of showing it")
    add("--watch", action="store_true", help="go on: look again whenever a file changes")
    add("--no-cache", action="store_true", help="read everything again")
    return parser


def lint(tokens: Sequence[str]) -> int:
    options = lint_parser().parse(tokens)

    from premortem.lint import verb

    return verb.run(options)


# --- server ----------------------------------------------------------------------------------


def server_parser() -> Parser:
    parser = Parser(
        prog="premortem server",
        usage="premortem server",
        description="Lint while you type: a language server, which editors start and talk to over stdio.",
    )
    parser.add_argument("--stdio", action="store_true", help="the only way there is; editors like to say it")
    return parser


def server(tokens: Sequence[str]) -> int:
    server_parser().parse(tokens)

    try:
        from premortem.lint.server import serve
    except ModuleNotFoundError as error:
        raise MissingExtra("`premortem server`", "server") from error
    return serve()


# --- ckpt ------------------------------------------------------------------------------------


def ckpt_parser() -> Parser:
    from premortem.vault import verbs

    return verbs.ckpt_parser()


def ckpt_verbs() -> Mapping[str, base.Verb]:
    from premortem.vault import verbs

    return verbs.ALL


def ckpt(tokens: Sequence[str]) -> int:
    from premortem.vault import verbs

    return verbs.ckpt(tokens)


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


def _show(pages: Sequence[str], *, rendered: bool = True) -> None:
    """Rendered for a person at a terminal; as it is for a pipe."""
    try:
        if rendered and sys.stdout.isatty():
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


# --- completion ------------------------------------------------------------------------------


def completion_parser() -> Parser:
    parser = Parser(
        prog="premortem completion",
        usage="premortem completion bash|zsh|fish",
        description="Print the script that lets a shell complete verbs, options and files.",
    )
    parser.add_argument("shell", nargs="?", metavar="bash|zsh|fish", help="the shell to write for")
    return parser


def completion(tokens: Sequence[str]) -> int:
    shell = completion_parser().parse(tokens).shell

    from premortem import catalog
    from premortem.completion import INSTALL, SHELLS, script

    if shell not in SHELLS:
        known = f"there are {', '.join(SHELLS)}"
        hint = (did_you_mean(shell, SHELLS) or known) if shell else f"which shell? {known}"
        raise UsageError(f"`premortem completion`: {hint}")
    if sys.stdout.isatty():
        sys.stderr.write(f"# to install it: {INSTALL[shell]}\n")
    words = [word for entry in catalog.entries() for word in (entry.card.code, entry.card.name)]
    _show([script(shell, VERBS, _top_parser(), words)], rendered=False)
    return 0


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


# --- casebook --------------------------------------------------------------------------------


def casebook_parser() -> Parser:
    parser = Parser(
        prog="premortem casebook",
        usage="premortem casebook [options]",
        description="Train the systems of the folder casebook/, healthy and with each of their faults, and print what was "
        "caught. The options are those of casebook/run.py.",
    )
    add = parser.add_argument
    add("--only", metavar="CASE[,ID...]", help="one case, or some of its faults")
    add(
        "--missing",
        action="store_true",
        help="keep the rows that an earlier run of the same code has written",
    )
    add("--quick", action="store_true", help="less data and fewer epochs")
    add("--json", metavar="FILE", help="where the rows go")
    add("--keep", metavar="DIR", help="keep what the runs write here")
    return parser


def casebook(tokens: Sequence[str]) -> int:
    casebook_parser().parse(tokens)
    script = Path("casebook", "run.py")
    if not script.is_file():
        raise UsageError("there is no casebook/ in this folder; it comes with premortem's source code")
    _needs_torch("`premortem casebook`")
    import subprocess

    return subprocess.run([sys.executable, str(script), *tokens], check=False).returncode


# --- the verbs -------------------------------------------------------------------------------


class Verb(NamedTuple):
    about: str
    parser: Callable[[], Parser]
    call: Callable[[Sequence[str]], int]
    below: Callable[[], Mapping[str, base.Verb]] = dict  # its own verbs, where it has some


VERBS: dict[str, Verb] = {
    "run": Verb("run a training script under supervision", run_parser, run),
    "check": Verb("a dress rehearsal: find in a minute what would fail later", check_parser, check),
    "fit": Verb("know before the run whether it fits on the GPU", fit_parser, fit),
    "replay": Verb("run a failed step again until its cause is proved", replay_parser, replay),
    "report": Verb("what happened in a run, as one page; two runs compared", report_parser, report),
    "ui": Verb("all runs on a local page, live while they train", ui_parser, ui),
    "lint": Verb("read training code and configs before they run", lint_parser, lint),
    "server": Verb("lint while you type, in your editor", server_parser, server),
    "ckpt": Verb("look at checkpoints, verify them, bring them back", ckpt_parser, ckpt, ckpt_verbs),
    "drill": Verb("make mistakes in your script and score what is caught", drill_parser, drill),
    "casebook": Verb(
        "five small systems and their faults, where casebook/ is at hand", casebook_parser, casebook
    ),
    "explain": Verb("what a finding means and what to do", explain_parser, explain),
    "completion": Verb("let your shell complete premortem's words", completion_parser, completion),
    "demo": Verb("see premortem at work in one minute", demo_parser, demo),
}
