"""The samples themselves.

walk.py        all names and sizes           names.py, splits.py   what names say
sampling.py    which files are read          readers/              one file for each format
layout.py      groups, sequences, classes    pairs.py, copies.py, lookalikes.py
code/          which folders the script will open, from its source
relations/     what most rows say about the rest, and tables about each other
data_facts.py  all of that as plain values   checks/               judge them, one file each
surveying.py   the part of the page; `survey_seen` takes what a rehearsal has seen
"""

from premortem.preflight.data.checks import ALL
from premortem.preflight.project import Part, Project, Tell
from premortem.rehearsal.observations import Rehearsed

__all__ = ["ALL", "survey", "survey_seen"]


def survey(project: Project, tell: Tell) -> Part:
    """The folders named with --data, and those that the script opens as far as its source says."""
    from premortem.preflight.data import surveying

    return surveying.survey(project, tell)


def survey_seen(project: Project, seen: Rehearsed, known: Part, tell: Tell) -> Part:
    """Of what a rehearsal has seen, that which the source alone could not tell."""
    from premortem.preflight.data import surveying

    return surveying.survey_seen(project, seen, known, tell)
