"""Which variables of the environment a script asks for, as its code says."""

import pytest

from premortem.probes.steering import asked_for

SET = {"APP_ROWS": "64", "OTHER": "1"}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ('rows = os.getenv("APP_ROWS")', ["APP_ROWS"]),
        ('for k, v in os.environ.items():\n    if k.startswith("APP_"):\n        pass', ["APP_ROWS"]),
        ('{k.removeprefix("APP_"): v for k, v in os.environ.items()}', ["APP_ROWS"]),
        ('if os.environ["HOME"].startswith("/root"):\n    pass', []),
        ('if "APP_ROWS".startswith("APP_"):\n    pass', []),  # the environment is not asked
    ],
    ids=["by name", "by prefix", "without its prefix", "another text", "no environment"],
)
def test_variables_that_are_asked_for(code, names):
    assert [each.name for each in asked_for("train.py", code.encode(), SET)] == names
