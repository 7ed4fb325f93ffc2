"""The settings, as the script will read them."""

from __future__ import annotations

from premortem.preflight.config.checks.config_missing import ConfigMissing
from premortem.preflight.config.checks.config_unreadable import ConfigUnreadable
from premortem.preflight.config.checks.global_batch_disagrees import GlobalBatchDisagrees
from premortem.preflight.config.checks.input_missing import InputMissing
from premortem.preflight.config.checks.number_in_quotes import NumberInQuotes
from premortem.preflight.config.checks.option_stays_text import OptionStaysText
from premortem.preflight.config.checks.switch_always_on import SwitchAlwaysOn
from premortem.preflight.config.checks.switch_is_text import SwitchIsText
from premortem.preflight.config.checks.unknown_key import UnknownKey
from premortem.preflight.project import Part, Project, Tell
from premortem.preflight.unit import Check

ALL: tuple[type[Check], ...] = (
    ConfigUnreadable,
    ConfigMissing,
    SwitchIsText,
    NumberInQuotes,
    OptionStaysText,
    SwitchAlwaysOn,
    UnknownKey,
    InputMissing,
    GlobalBatchDisagrees,
)
TITLE = "Configuration and code"


def survey(project: Project, tell: Tell) -> Part:
    from premortem.preflight.config import gathering, linting

    if not project.target:
        return Part(title=TITLE, skipped="no script is named")
    facts, read = gathering.gather(project, tell)
    part = Part(title=TITLE, facts=gathering.lines(facts, read), record=gathering.record(facts))
    part.judge(ALL, facts)
    if read.entry is not None:
        tell("reading the code")
        code = [read.entry, *(path for path in read.paths if path != read.entry)]
        configs = [file.path for file in facts.files if not file.missing]
        part.findings += linting.findings(read.root, read.entry, [*code, *configs])
    return part
