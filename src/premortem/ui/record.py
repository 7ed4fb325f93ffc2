"""The list of runs as JSON. The address of the API has its version, `/api/v1`; keys are added to it and never change."""

from premortem import __version__
from premortem.files.plain import dumps
from premortem.report.listed import Entry
from premortem.ui.runs import Listing


def listing(shown: Listing) -> str:
    whole = {
        "premortem": __version__,
        "total": shown.total,
        "matching": shown.matching,
        "unread": shown.unread,
        "page": shown.page,
        "pages": shown.pages,
        "runs": [_run(entry) for entry in shown.entries],
    }
    return dumps(whole, indent=2) + "\n"


def _run(entry: Entry) -> dict[str, object]:
    return {
        "name": entry.name,
        "folder": str(entry.journal.parent),
        "script": entry.script,
        "started": entry.started,
        "state": entry.state,
        "verdict": entry.tone,
        "message": entry.message,
        "steps": entry.steps,
        "loss": entry.loss,
        "losses": list(entry.losses),
    }
