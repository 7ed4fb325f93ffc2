"""`premortem fit`: its options."""

from collections.abc import Sequence
from pathlib import Path

from premortem import settings
from premortem.command_line import Parser, formatted, limited, needs_torch, starting_a_script


def parser() -> Parser:
    made = Parser(
        prog="premortem fit",
        usage="premortem fit [options] script.py ARGS...\n       premortem fit [options] -m module ARGS...",
        description="Predict the peak GPU memory of a training script, without a GPU. The script itself runs, for two "
        "optimizer steps, on tensors without contents; what it writes is thrown away.",
    )
    add = made.add_argument
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
    limited(made, None, "for everything (default: 60; the first rehearsal alone may take 300)")
    add(
        "--speed",
        action="store_true",
        help="instead: measure what compile, autocast and others do to the step, here",
    )
    add("--only", action="append", metavar="NAMES", help="with --speed: try only these, with commas")
    add("--steps", type=int, metavar="N", help="with --speed: how many steps the whole run has")
    add("--show-output", action="store_true", help="show what the script prints")
    formatted(made)
    starting_a_script(made)
    return made


def call(tokens: Sequence[str]) -> int:
    options, command = settings.asked(parser(), "fit", tokens)
    needs_torch("`premortem fit`")
    if options.speed:
        from premortem.fit.speed import verb as speed

        return speed.run(options, command)

    from premortem.fit import verb

    verb.check(options, command)
    return verb.run(options, command)
