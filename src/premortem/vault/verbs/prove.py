"""`premortem ckpt prove train.py ARGS…`: is the resumed run the run that was saved?"""

from collections.abc import Sequence

from premortem.command_line import Parser
from premortem.vault.verbs.base import Verb


def prove_parser() -> Parser:
    from premortem.proof import verb

    return verb.parser()


def prove(tokens: Sequence[str]) -> int:
    from premortem.proof import verb

    return verb.call(tokens)


PROVE = Verb("run a script past a save and resume it: is it the same run?", prove_parser, prove)
