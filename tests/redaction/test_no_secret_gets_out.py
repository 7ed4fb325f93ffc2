"""A secret is planted in a command line, a variable, a file, a URL; then it turns up in whatever premortem writes.

Every byte that is written is searched for it, in each form in which a library may show it.
"""

import contextlib
import io
import json
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from premortem import redaction
from premortem.events import MirrorSeen
from premortem.files.findings_file import FindingsFile
from premortem.files.plain import dumps
from premortem.findings import Certainty, Finding, Severity, Where
from premortem.journal import Journal
from premortem.journal.read import Run
from premortem.redaction import Redactor
from premortem.sinks.words import as_markdown, in_one_line
from premortem.terminal.console import Console
from premortem.terminal.printed_lines import parse
from premortem.vault.remote import first_line

VISIBLE = "".join(map(chr, range(33, 127)))
FEW, MANY = 60, 3000


def is_planted(secret):
    """Not what may stand in any text, and no place for a value."""
    return (
        len(set(secret)) >= 5
        and not secret.startswith(("-", "[", "<", "${", "{{", "$("))
        and secret[-1] != "\\"
    )


def secrets(alphabet=VISIBLE):
    """Long enough to be one, and told from an ordinary word by a character in it."""
    middle = st.text(alphabet, min_size=7, max_size=40)
    return st.builds(lambda text, digit: f"{text}{digit}q", middle, st.integers(0, 9)).filter(is_planted)


# How premortem comes to know it.
PLANTS = {
    "option": lambda s: redaction.argv(["train.py", "--password", s]),
    "option=": lambda s: redaction.argv(["train.py", f"--api-key={s}"]),
    "override": lambda s: redaction.argv(["train.py", f"+wandb.api_key={s}"]),
    "assignment": lambda s: redaction.argv([f"SERVICE_PASSWORD={s}"]),
    "variable": lambda s: redaction.ours.learn_environment({"MY_SERVICE_SECRET": s}),
    "url": lambda s: redaction.argv([f"postgres://jane:{quote(s, safe='')}@host/db"]),
    "url in a variable": lambda s: redaction.ours.learn_environment(
        {"DSN": f"amqp://u:{quote(s, safe='')}@h"}
    ),
    "url as it is": lambda s: redaction.learn_url(f"ftp://jane:{s}@host/x"),
    "query": lambda s: redaction.learn_url(f"https://h/x?page=3&access_token={quote(s, safe='')}"),
    "json": lambda s: redaction.source(json.dumps({"db": {"password": s}, "lr": 1}, indent=1), "c.json"),
    "yaml": lambda s: redaction.source(f"lr: 1\nwandb:\n  api_key: {json.dumps(s)}\n", "c.yaml"),
    "toml": lambda s: redaction.source(f"[db]\npassword = {json.dumps(s)}\n", "c.toml"),
    "env": lambda s: redaction.source(f"export DB_PASSWORD={s}\n", ".env"),
    "ini": lambda s: redaction.source(f"[login]\npassword = {s}\n", "c.ini"),
    "code": lambda s: redaction.source(f"import os\nAPI_KEY = {s!r}\n", "train.py"),
    "record": lambda s: redaction.record({"settings": {"db": {"passwd": s}}}),
}


def texts(secret):
    """How it turns up."""
    return [
        f"refused: {secret}",
        repr({"nothing": secret}),
        json.dumps([secret]),
        f"https://host/{quote(secret, safe='')}/x",
        f"Namespace(x={secret!r})",
    ]


def written(folder, secret):
    """What premortem writes of a run in which the secret is everywhere, and what it says."""
    said = []
    finding = Finding(
        code="PM000",
        name="planted",
        family="environment",
        severity=Severity.ERROR,
        certainty=Certainty.MEASURED,
        step=3,
        message=texts(secret)[0],
        cause=texts(secret)[1],
        remedy=texts(secret)[4],
        where=Where(file=str(folder / "train.py"), line=2),
        evidence={"text": secret, "all": texts(secret), "deep": {"er": [secret]}},
    )
    (folder / "train.py").write_text(f"import torch\nx = [{secret!r}]\n")
    journal = Journal.open(
        folder / "run", meta={"argv": ["train.py", secret], "message": secret}, on_problem=said.append
    )
    journal.note(error=texts(secret)[1])
    error = RuntimeError(texts(secret)[0], secret)
    journal.fault("unit", error)
    said.append(first_line(error))
    journal.finding(finding)
    journal.event(MirrorSeen(url="s3://x", problem=secret, pending=1, failures=1, minutes=0.0, ended=False))
    if (line := parse(f"login {secret} loss 3")) is not None:
        journal.event(line)
    journal.accounts["account"] = lambda: {"held": secret}
    journal.close()
    FindingsFile(folder / "findings.json", said.append).write({"argv": ["a", secret]}, [finding])
    stream = io.StringIO()
    console = Console(stream=stream, plain=True)
    console.finding(finding)
    console.problem(texts(secret)[0])
    said += [
        stream.getvalue(),
        in_one_line(finding),
        as_markdown(finding),
        dumps({"started": {"argv": [secret]}}),
    ]
    (folder / "train.py").unlink()
    return said


def forms(secret):
    return {secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret, safe="")}


@contextlib.contextmanager
def forgetful():
    """Nothing is known when it begins, nor afterwards."""
    known, redaction.ours = redaction.ours, Redactor()
    try:
        yield
    finally:
        redaction.ours = known


def hunt(plant, secret):
    with forgetful(), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        PLANTS[plant](secret)
        said = written(folder, secret)
        files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert len(files) >= 2
        for form in forms(secret):
            leaks = [
                str(path.relative_to(folder)) for path, content in files.items() if form.encode() in content
            ]
            assert leaks == []
            assert [text for text in said if form in text] == []
        with Run(folder / "run") as run:  # what is left can be read
            assert run.findings()[0].code == "PM000"


@settings(max_examples=FEW, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(PLANTS)), secrets())
@example("option", "it's-\"q1q")
@example("url", "p@ss/w:rd#1q")
def test_whatever_was_recognised_once_is_in_no_file(plant, secret):
    hunt(plant, secret)


@pytest.mark.exhaustive
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(PLANTS)), secrets())
def test_whatever_was_recognised_once_is_in_no_file_thousands_of_times(plant, secret):
    hunt(plant, secret)


# Where it stands beside its name, and nobody has seen it before.
BESIDE = [
    "password={}",
    "--api-key={} --lr 3",
    "run --password {} --lr 3",
    'login(auth_token="{}")',
    "{{'passwd': '{}', 'lr': 1}}",
    "postgres://u:{}@h/db",
    "x-api-key: {}",
    "export DB_PASSWORD={}",
    "Authorization: Bearer {}",
    "https://h/p?x=1&X-Amz-Signature={}&y=2",
]


@settings(max_examples=4 * FEW, deadline=None)
@given(st.sampled_from(BESIDE), secrets("ABCDEFGHJKabcdefghjk0123456789_-+/.~"))
def test_what_stands_beside_its_name_is_left_out(text, secret):
    assert secret not in Redactor().text(text.format(secret))


@settings(max_examples=4 * FEW, deadline=None)
@given(st.text(max_size=300))
def test_any_text_can_be_asked_about_and_twice_is_once(text):
    redactor = Redactor()
    once = redactor.text(text)
    assert redactor.text(once) == once


def test_an_old_journal_is_read_without_its_secrets(tmp_path, monkeypatch):
    """Written before there was any of this."""
    argv = ["train.py", "--password", "0ld-s3cret-x", "--db", "postgres://u:an0ther-one@h"]
    with forgetful():
        monkeypatch.setattr("premortem.redaction.record", lambda value: value)
        monkeypatch.setattr("premortem.redaction.redacted", lambda text: text)
        monkeypatch.setattr("premortem.redaction.source", lambda text, path: text)
        (tmp_path / "train.py").write_text('x = "0ld-s3cret-x"\n')
        journal = Journal.open(tmp_path / "run", meta={"argv": argv}, on_problem=pytest.fail)
        journal.source(str(tmp_path / "train.py"))
        journal.fault("unit", ValueError("0ld-s3cret-x"))
        journal.note(message="0ld-s3cret-x was refused by an0ther-one")
        journal.close()
        monkeypatch.undo()
        assert b"0ld-s3cret-x" in b"".join(path.read_bytes() for path in (tmp_path / "run").iterdir())
        with Run(tmp_path / "run") as run:
            shown = repr([run.sources(), run.faults(), run.meta, run.findings(), run.latest()])
        assert "0ld-s3cret-x" not in shown
        assert "an0ther-one" not in shown
        assert "was refused by" in shown
        assert redaction.redacted("0ld-s3cret-x") == "0ld-s3cret-x", (
            "what a journal calls secret is its own affair"
        )
