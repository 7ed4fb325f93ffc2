"""Rules: a source in, diagnostics out. To add one, write its file and add two lines here."""

from premortem.lint.rule import ConfigRule, Rule
from premortem.lint.rules.dropped_tensor_result import DroppedTensorResult

ALL: tuple[type[Rule | ConfigRule], ...] = (
    DroppedTensorResult,  # PM501
)

__all__ = ["ALL", "ConfigRule", "Rule"]
