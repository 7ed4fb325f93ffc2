"""Reports to show: made by hand, so that the tests of the formats do not depend on what a rule says."""

from premortem.findings import Severity
from premortem.lint.diagnostics import Diagnostic, Edit, Fix
from premortem.lint.rules.dropped_tensor_result import DroppedTensorResult

CARD = DroppedTensorResult.card
CODE = 'import torch\nfor x in loader:\n    x.to(device)\n    print("done")\n'


def report(path="train.py", line=3, column=5, end_line=3, end_column=17, **changes):
    plain = {
        "card": CARD,
        "message": "`x.to()` returns a new tensor",
        "remedy": "Write `x = x.to(...)`.",
        "severity": Severity.ERROR,
    }
    return Diagnostic(
        path=path, line=line, column=column, end_line=end_line, end_column=end_column, **{**plain, **changes}
    )


def assigned(code=CODE, at="x.to"):
    """The fix that assigns the result."""
    start = code.encode().index(at.encode())
    return Fix((Edit(start, start, "x = "),))
