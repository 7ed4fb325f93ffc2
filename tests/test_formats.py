"""`--format` is spelled the same on every verb that has a page, and JSON is all that it prints."""

import json
from pathlib import Path

import pytest

from premortem import cli
from premortem.drill import command as drill
from premortem.errors import UsageError
from premortem.fit import command as fit
from premortem.preflight import command as check
from premortem.replay import command as replay
from premortem.why import command as why

WITH_A_PAGE = (check, fit, drill, why, replay)


@pytest.mark.parametrize("verb", WITH_A_PAGE, ids=lambda verb: verb.__name__)
def test_json_is_printed_instead_of_the_page(verb):
    options = verb.parser().parse(["--format", "json"])
    assert (options.json, options.quiet) == (Path("-"), True)
    plain = verb.parser().parse([])
    assert (plain.json, plain.quiet) == (None, False)
    with pytest.raises(UsageError, match="there is no format `yaml`; there are text and json"):
        verb.parser().parse(["--format", "yaml"])


def test_checkpoints_too(tmp_path, capsys):
    assert cli.main(["ckpt", "list", "--format", "json", str(tmp_path)]) in {0, 1}
    spelled = capsys.readouterr().out
    assert cli.main(["ckpt", "list", "--json", str(tmp_path)]) in {0, 1}
    assert json.loads(capsys.readouterr().out) == json.loads(spelled)


def test_check_prints_one_json_document(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print('hello')\n")
    assert cli.main(["check", "--no-rehearsal", "--format", "json", "train.py"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["verdict"] == "fine"
    assert [part["title"] for part in said["parts"]]
