"""What the part about data says, with its findings folded as the verb folds those of all parts."""

from premortem.derived.folding import fold
from premortem.preflight import data


def survey(project, tell):
    part = data.survey(project, tell)
    part.findings = fold(part.findings, {check.card.code: check.card for check in data.ALL})
    return part
