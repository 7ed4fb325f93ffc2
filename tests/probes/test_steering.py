"""Which variables of the environment a script asks for, as its code says."""

import ast

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


def test_the_same_text_is_parsed_once_however_often_it_is_asked(monkeypatch):
    parsed = []
    monkeypatch.setattr(ast, "parse", lambda text, really=ast.parse: parsed.append(text) or really(text))
    text = b'once = os.getenv("APP_ROWS")'
    asked = [list(asked_for("train.py", text, SET | {"APP_ROWS": rows})) for rows in ("64", "65")]
    assert [each.value for (each,) in asked] == ["64", "65"]
    assert parsed == [text]


@pytest.mark.parametrize(
    ("code", "so"),
    [
        ('lr = 2e-3 * int(os.environ["WORLD_SIZE"])', True),
        ('world = int(os.getenv("WORLD_SIZE", 1))\nopt = Adam(net.parameters(), lr=base * world**0.5)', True),
        ('args.world = int(os.environ["WORLD_SIZE"])\nargs.lr *= args.world', True),
        ('world = int(os.environ["WORLD_SIZE"])\nprint("batch", 32 * world)\nlr = 1.2e-3', False),
        ('world = int(os.environ["WORLD_SIZE"])\nif world > 1:\n    n = 2 * world\n    lr = 0.1', False),
    ],
)
def test_whether_a_rate_is_multiplied_by_it(code, so):
    found = asked_for("train.py", code.encode(), {"WORLD_SIZE": "4"})
    assert {each.of_rate for each in found} == {so}
