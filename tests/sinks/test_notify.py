"""Notifications, received by real servers on this machine."""

from __future__ import annotations

import email
import email.policy
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from premortem.errors import UsageError
from premortem.findings import Certainty, Finding, Severity, Where
from premortem.redaction import redacted
from premortem.sinks import chosen, notifier, tracker
from premortem.sinks.base import Outcome
from premortem.sinks.relay import Relay
from tests import starting
from tests.facts_of import each_holds, holds

BROKEN = Path(__file__).with_name("broken.py")


class Hook(HTTPServer):
    """A webhook. `answers` are the status codes of its next answers, `wait` is how long each takes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.received: list[dict] = []
        self.answers: list[int] = []
        self.wait = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/services/T0/SECRET-PATH"


class Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.server.wait)
        status = self.server.answers.pop(0) if self.server.answers else 200
        if status == 200:
            assert self.headers["Content-Type"] == "application/json"
            self.server.received.append(json.loads(body))
        self.send_response(status)
        self.end_headers()

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def finding(number: int = 0, **changes: object) -> Finding:
    values = {
        "code": "PM103",
        "name": "parameter-without-optimizer",
        "family": "optimizer-ownership",
        "severity": Severity.ERROR,
        "certainty": Certainty.MEASURED,
        "step": 17 + number,
        "message": "`model.head` <!channel> & co is in no optimizer",
        "remedy": "build it last",
        "where": Where(file="/home/somebody/secret-project/train.py", line=41),
    }
    return Finding(**{**values, **changes})


def told(targets: list[str], *findings: Finding, patience: float = 10.0) -> list[str]:
    """Through a relay, as in a run; returns what the user was told of it."""
    problems: list[str] = []
    relay = Relay(chosen([], targets), problems.append, script="train.py")
    for each in findings:
        relay.finding(each)
    relay.close(Outcome(reason="crashed", steps=60, findings=findings), patience)
    return problems


def test_a_webhook_gets_slacks_json(hook: Hook) -> None:
    assert told([hook.url], finding(), finding(severity=Severity.INFO)) == []
    first, last = (message["text"] for message in hook.received)
    assert first.splitlines() == [
        "*train.py: error PM103 parameter-without-optimizer at step 17*",
        "`model.head` &lt;!channel&gt; &amp; co is in no optimizer",
        "where: train.py:41",
        "fix: build it last",
    ]
    assert last.startswith("*train.py: crashed after 60 steps: 1 error, 1 remark*")
    assert "somebody" not in first + last, "folders stay at home"


def test_a_busy_webhook_is_tried_again(hook: Hook) -> None:
    hook.answers = [503]
    assert told([hook.url]) == []
    assert len(hook.received) == 1


def test_a_webhook_that_refuses_is_one_sentence_without_its_address(hook: Hook) -> None:
    hook.answers = [404] * 9
    (problem,) = told([hook.url], finding(), finding(1), finding(2), finding(3))
    assert holds(problem, "the webhook at 127.0.0.1", "404")
    assert len(hook.answers) >= 5, "after three failures it is left alone"


def test_a_million_findings_are_no_million_messages(hook: Hook) -> None:
    told([hook.url], *(finding(n) for n in range(200)))
    assert len(hook.received) == 21
    assert "the last message" in hook.received[19]["text"]


def test_a_webhook_that_hangs_delays_nothing(hook: Hook) -> None:
    hook.wait = 1.0
    problems: list[str] = []
    relay = Relay(chosen([], [hook.url]), problems.append)
    began = time.monotonic()
    for number in range(20):
        relay.finding(finding(number))
    assert time.monotonic() - began < 0.5
    relay.close(Outcome(), patience=0.2)
    assert time.monotonic() - began < 1.2
    assert problems == [
        "not everything reached the webhook at 127.0.0.1 in 0 seconds; the journal has it all"
    ]
    hook.wait = 0.0
    relay._thread.join(30)


def test_secrets_stay_at_home(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "hunter2-hunter2")
    told(
        [hook.url],
        finding(
            message="could not read s3://user:pa55@host/x with hunter2-hunter2",
            cause="password=swordfish, Authorization: Bearer abc.def",
        ),
    )
    text = hook.received[0]["text"]
    for secret in ("hunter2", "pa55", "swordfish", "abc.def"):
        assert secret not in text
    assert "s3://user:[hidden]@host/x with [hidden]" in text


def test_ordinary_words_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "loss")  # too short to be one
    sentence = "the loss at token 12: https://example.org/a?b=c, mail@example.org"
    assert redacted(sentence) == sentence


def test_mail_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    aiosmtpd = pytest.importorskip("aiosmtpd.controller", reason="aiosmtpd is not installed")
    letters = []

    class Box:
        async def handle_DATA(self, server, session, envelope):  # noqa: N802 - as the library calls it
            letters.append(envelope)
            return "250 OK"

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = aiosmtpd.Controller(Box(), hostname="127.0.0.1", port=port)
    try:
        server.start()
        monkeypatch.setenv("PREMORTEM_SMTP", f"smtp://127.0.0.1:{port}")
        assert told(["mailto:a@example.org,b@example.org"], finding(message="größer als 1")) == []
    finally:
        server.stop()
    first, last = letters
    assert first.rcpt_tos == ["a@example.org", "b@example.org"]
    letter = email.message_from_bytes(first.content, policy=email.policy.default)
    assert (
        letter["Subject"].strip()
        == "[premortem] train.py: error PM103 parameter-without-optimizer at step 17"
    )
    assert "größer als 1" in letter.get_content()
    assert b"crashed after 60 steps" in last.content


def test_a_mail_server_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREMORTEM_SMTP", "smtp://user:swordfish@127.0.0.1:9")
    (problem,) = told(["mailto:a@example.org"], finding())
    assert holds(problem, "the mail server", "ConnectionRefusedError of SMTP")


def test_a_command_gets_the_message(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert told([f'cat >> {log}; echo " $PREMORTEM_SUBJECT" >> {log}'], finding()) == []
    first, last = log.read_text().splitlines()
    record, end = json.JSONDecoder().raw_decode(first)
    assert (record["code"], record["severity"]) == ("PM103", "error")
    assert first[end:] == " train.py: error PM103 parameter-without-optimizer at step 17"
    assert last.endswith("crashed after 60 steps: 1 error")


def test_a_command_that_fails_is_one_sentence() -> None:
    assert each_holds(told(["false"], finding()), ["the command `false`", "it ended with 1"])


@pytest.mark.parametrize(
    ("make", "word", "sentence"),
    [
        (tracker, "tensorbord:x", "there is no sink `tensorbord`; did you mean `tensorboard`"),
        (tracker, "comet", "there is no sink `comet`; there are tensorboard, mlflow, wandb"),
        (notifier, "ftp://host/x", "takes https://, mailto: or a command, not ftp://"),
        (notifier, "mailto:nobody", "needs an address"),
        (notifier, "https://", "the whole address of the webhook"),
        (notifier, "no-such-command-here --x", "no-such-command-here.*https://.*mailto:.*command"),
    ],
)
def test_a_wrong_wish_is_one_sentence(make, word: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        make(word)


def test_only_the_first_of_several_processes_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    assert chosen([], ["https://example.org/x"]) == []


def test_premortem_run_notifies_and_shows_no_address(hook: Hook, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "premortem", "run", "--notify", hook.url, str(BROKEN), "--token=abc"]
    done = starting.run(command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    texts = [message["text"] for message in hook.received]
    assert any("PM103" in text for text in texts[:-1])
    assert "finished after 60 steps" in texts[-1]
    assert not any("--token" in text for text in texts), "what the script was given is its own"
    journals = b"".join(path.read_bytes() for path in tmp_path.rglob("journal.sqlite*"))
    assert b"SECRET-PATH" not in journals + done.stderr.encode()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--sink", "tensorbord:x"], "there is no sink `tensorbord`; did you mean `tensorboard`?"),
        (["--notify", "ftp://x"], "takes https://, mailto: or a command, not ftp://"),
    ],
)
def test_a_wrong_wish_ends_before_the_script_begins(words: list[str], sentence: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print('it ran')")
    command = [sys.executable, "-m", "premortem", "run", *words, str(script)]
    done = starting.run(command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
