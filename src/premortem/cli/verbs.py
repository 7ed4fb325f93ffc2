"""All verbs. To add one: a module in its room with `parser` and `call`, and a line here."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from premortem.errors import PremortemError

if TYPE_CHECKING:
    from premortem.command_line import Parser
    from premortem.vault.verbs import base


class Verb(NamedTuple):
    about: str
    module: str  # its module, below premortem
    starts: bool = False  # the user's script, by fork and signals

    def parser(self) -> Parser:
        parser: Parser = self._imported().parser()
        return parser

    def call(self, tokens: Sequence[str]) -> int:
        if self.starts and not hasattr(os, "fork"):
            pure = ", ".join(f"`{name}`" for name, verb in VERBS.items() if not verb.starts)
            raise PremortemError(
                f"this starts your script by `fork` and signals, which {sys.platform} does not have; under Linux, macOS or "
                f"WSL it works, and here do {pure}"
            )
        code: int = self._imported().call(tokens)
        return code

    def below(self) -> Mapping[str, base.Verb]:
        """Its own verbs, where it has some."""
        return getattr(self._imported(), "VERBS", {})

    def _imported(self) -> Any:
        return import_module(f"premortem.{self.module}")


VERBS: dict[str, Verb] = {
    "run": Verb("run a training script under supervision", "run.command", starts=True),
    "check": Verb(
        "a dress rehearsal: find in a minute what would fail later", "preflight.command", starts=True
    ),
    "fit": Verb("know before the run whether it fits on the GPU", "fit.command", starts=True),
    "replay": Verb("run a failed step again until its cause is proved", "replay.command", starts=True),
    "why": Verb(
        "why does it not learn? one thing changed at a time, until the cause is proved",
        "why.command",
        starts=True,
    ),
    "report": Verb("what happened in a run, as one page; two runs compared", "report.command"),
    "ui": Verb("all runs on a local page, live while they train", "ui.command"),
    "sweep": Verb("the trials of a sweep: which failed of what, and with which settings", "sweep.command"),
    "lint": Verb("read training code and configs before they run", "lint.command"),
    "server": Verb("lint while you type, in your editor", "cli.server"),
    "mcp": Verb("for coding agents: a Model Context Protocol server", "agents.command"),
    "agents": Verb("a text about premortem for your AGENTS.md", "agents.text"),
    "ckpt": Verb("look at checkpoints, verify them, bring them back", "vault.verbs"),
    "drill": Verb("make mistakes in your script and score what is caught", "drill.command", starts=True),
    "casebook": Verb(
        "five small systems and their faults, where casebook/ is at hand", "cli.casebook", starts=True
    ),
    "config": Verb("the settings of this project, and where each comes from", "cli.config"),
    "explain": Verb("what a finding means and what to do", "cli.explain"),
    "completion": Verb("let your shell complete premortem's words", "cli.completion"),
    "demo": Verb("see premortem at work in one minute", "demo.command", starts=True),
}
