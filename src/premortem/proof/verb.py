"""`premortem ckpt prove train.py ARGS…`"""

import sys
from collections.abc import Sequence

from premortem.command_line import Parser, limited, split
from premortem.errors import UsageError

NOT_THE_SAME = 1


def parser() -> Parser:
    parser = Parser(
        prog="premortem ckpt prove",
        usage="premortem ckpt prove [options] script.py ARGS...",
        description="Run the script past a save of its own, start it again from there in a fresh process, and compare the "
        "steps that follow bit for bit. What it writes goes to a folder that is thrown away.",
    )
    parser.add_argument("--steps", type=int, default=5, metavar="N", help="steps to compare (default: 5)")
    limited(parser, 300.0)
    parser.add_argument(
        "--resume-with",
        metavar="WORDS",
        help='what makes the script resume, where premortem does not find out; {} is the file: "--from {}"',
    )
    parser.add_argument("--json", action="store_true", help="print JSON for other programs")
    parser.add_argument("-m", action="store_true", help="the name is a module's, as in `python -m`")
    return parser


def call(tokens: Sequence[str]) -> int:
    from premortem.proof import page
    from premortem.proof.prove import ProofOptions, prove
    from premortem.terminal import pages
    from premortem.terminal.progress import progress

    rules = parser()
    command = split(rules, tokens)
    options = rules.parse(command.options)
    command.needs_a_script("ckpt prove")
    if options.steps < 1:
        raise UsageError("`--steps` counts steps: at least 1")
    terminal = pages.terminal()
    with progress("ckpt prove", "starting", quiet=options.json) as shown:
        proof = prove(
            ProofOptions(
                argv=[*(["-m"] if command.module else []), command.target, *command.argv],
                steps=options.steps,
                seconds=options.seconds,
                resume_with=options.resume_with,
                tell=shown.say,
            )
        )
    if options.json:
        sys.stdout.write(page.record(proof))
    else:
        page.show(proof, terminal)
    return 0 if proof.exact else NOT_THE_SAME
