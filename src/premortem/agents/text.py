"""What an agent should know about premortem, in few words: for the server, and for AGENTS.md (`premortem agents`)."""

import sys
from collections.abc import Sequence

from premortem.command_line import Parser

INSTRUCTIONS = """\
premortem finds faults in PyTorch training that raise nothing: a model that does not learn, a loss that turns NaN, an
evaluation in the wrong mode, a checkpoint that loads nothing. Findings name the line, the cause and the remedy.

1. Before a change: `lint` reads the code. `check` rehearses the script in a sandbox.
2. After a run: `findings` gives the root causes of the newest run; `explain` says what one means. Ask with `code` for its
   evidence and the fix as a diff.
3. A run that turned NaN: `replay` proves the operation, the line and the samples. Do not guess.
4. Silence a finding only when it is meant, with `# premortem: ignore[CODE]` on the line to blame.
Errors are broken runs, warnings are likely faults, infos are habits. A finding that is `proved` was shown by experiment.
"""

AGENTS = f"""\
## Training runs

This project trains with PyTorch. Put `premortem run` in front of the training command: `premortem run train.py ARGS`.
It changes nothing in the script, and says what is wrong while it trains.

{INSTRUCTIONS}
| to | do |
|---|---|
| read the code for faults | `premortem lint --format json PATH` |
| rehearse a script in a sandbox | `premortem check --json out.json train.py ARGS` |
| train, with the findings as JSON | `premortem run --findings out.json train.py ARGS` |
| read what happened in the newest run | `premortem report --format json -o -` |
| prove the cause of a NaN | `premortem replay CAPSULE` (the finding names it) |
| know what a finding means | `premortem explain --format json CODE` |
"""


def parser() -> Parser:
    return Parser(
        prog="premortem agents",
        usage="premortem agents >> AGENTS.md",
        description="Print a short text for AGENTS.md: how a coding agent should use premortem in your project.",
    )


def call(tokens: Sequence[str]) -> int:
    parser().parse(tokens)
    sys.stdout.write(AGENTS)
    return 0
