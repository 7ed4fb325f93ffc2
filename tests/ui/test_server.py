"""The server, asked without a browser: who may come in, what a page holds, and that it never writes by itself."""

import contextlib
import http.client
import json
import math
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys

import pytest

from premortem.cli import main
from premortem.findings import Severity
from premortem.journal import Run
from tests.ui.conftest import finding, until

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


# --- who may come in -------------------------------------------------------------------------


def test_without_the_token_nothing_is_told(serve, journal, tmp_path):
    journal("secret", losses=[1.0])
    server = serve(tmp_path / "runs")
    for path in (
        "/",
        "/runs/secret",
        "/events",
        "/static/page.js",
        "/runs/secret/plots/timeline",
        "/?token=wrong",
    ):
        status, headers, text = server.stranger(path)
        assert (status, "secret" in text) == (403, False), path
        assert "default-src 'none'" in headers["content-security-policy"]
    status, _headers, text = server.stranger("/", {"cookie": f"premortem-{server.port}=é{server.token}"})
    assert status == 403
    assert "Open the address that `premortem ui` has printed" in text


def test_the_token_becomes_a_cookie_and_leaves_the_address(serve, tmp_path):
    (tmp_path / "runs").mkdir()
    server = serve(tmp_path / "runs")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", f"/?token={server.token}")
    reply = connection.getresponse()
    reply.read()
    connection.close()
    assert (reply.status, reply.headers["location"]) == (303, "/")
    assert reply.headers["set-cookie"].endswith("; Path=/; HttpOnly; SameSite=Lax")
    assert server.get("/")[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_name_for_this_machine_is_refused(serve, tmp_path, host):
    (tmp_path / "runs").mkdir()
    server = serve(tmp_path / "runs")
    cookie = f"premortem-{server.port}={server.token}"
    status, _headers, text = server.stranger("/", {"host": host.format(port=server.port), "cookie": cookie})
    assert (status, text) == (403, "This server answers only under its own address.")
    assert server.stranger("/", {"host": f"localhost:{server.port}", "cookie": cookie})[0] == 200


def test_it_listens_on_this_machine_alone(serve, tmp_path):
    (tmp_path / "runs").mkdir()
    server = serve(tmp_path / "runs")
    with socket.socket() as other, pytest.raises(OSError, match="refused"):
        other.connect(("127.0.0.2", server.port))


def test_another_page_cannot_ask_anything_of_a_run(serve, training, tmp_path):
    training()
    server = serve(tmp_path / "runs")
    server.get("/")
    path = "/runs/live/ask/stop"
    for headers in (
        {},
        {"x-premortem": "1"},
        {"x-premortem": "1", "origin": "http://evil.example"},
        {"origin": server.base},
    ):
        assert server.get(path, method="POST", headers=headers)[0] == 403
    assert server.get(path)[0] == 405, "only a POST asks"
    assert not list((tmp_path / "runs" / "live").glob("asked-*"))


# --- the list ----------------------------------------------------------------------------------


def names(text):
    return re.findall(r'href="/runs/([^"]+)"', text)


def test_runs_are_listed_newest_first_searched_and_filtered(serve, journal, tmp_path):
    journal("a", losses=[1.0], started="2026-01-01T00:00:00+00:00", argv=["train.py", "--lr", "0.1"])
    journal("b", losses=[1.0], started="2026-01-03T00:00:00+00:00", findings=[finding()])
    journal("c", losses=[1.0], started="2026-01-02T00:00:00+00:00", findings=[finding(Severity.WARNING)])
    (tmp_path / "runs" / "no run").mkdir()
    server = serve(tmp_path / "runs")
    assert names(server.get("/")[2]) == ["b", "c", "a"]
    assert names(server.get("/?verdict=bad")[2]) == ["b"]
    assert names(server.get("/?verdict=doubtful")[2]) == ["c"]
    assert names(server.get("/?verdict=good")[2]) == ["a"]
    assert names(server.get("/?q=LR+0.1")[2]) == ["a"]
    assert names(server.get("/?q=nan&verdict=bad")[2]) == ["b"]
    assert "No run is like that" in server.get("/?q=nothing")[2]
    assert names(server.get("/?verdict=%3Cb%3E&page=-7")[2]) == ["b", "c", "a"]


def test_many_runs_come_in_pages(serve, journal, tmp_path):
    first = journal("run-000", losses=[1.0], started="2026-01-01T00:00:00+00:00")
    for number in range(1, 120):
        (tmp_path / "runs" / f"run-{number:03}").mkdir()
        shutil.copy(first, tmp_path / "runs" / f"run-{number:03}" / first.name)
    server = serve(tmp_path / "runs")
    until(lambda: "still being read" not in server.get("/")[2])
    pages = [names(server.get(f"/?page={page}")[2]) for page in (1, 2, 3, 99)]
    assert [len(page) for page in pages] == [50, 50, 20, 20]
    assert len({name for page in pages for name in page}) == 120


def test_a_folder_without_runs_says_how_to_make_one(serve, tmp_path):
    server = serve(None, cwd=tmp_path)
    assert "No run was made here yet" in server.get("/")[2]


def test_what_a_run_is_called_is_only_text(serve, journal, tmp_path):
    journal("<script>alert(3)<", losses=[1.0], argv=[EVIL], findings=[finding(message=EVIL)])
    server = serve(tmp_path / "runs")
    for path in (
        "/",
        "/?q=%3Cscript%3E&verdict=%22%3E%3Cscript%3E",
        "/runs/%3Cscript%3Ealert(3)%3C",
        "/runs/%3Cscript%3E",
    ):
        text = server.get(path)[2]
        assert "<script>alert" not in text, path
        assert "<img" not in text, path
    assert server.get("/runs/%3Cscript%3Ealert(3)%3C")[0] == 200


# --- bad input ---------------------------------------------------------------------------------


def test_a_run_without_a_step_and_one_of_nothing_but_nan_are_shown(serve, journal, tmp_path):
    journal("empty")
    journal("nan", losses=[math.nan, math.inf, -math.inf])
    server = serve(tmp_path / "runs")
    assert "No training step was seen" in server.get("/runs/empty")[2]
    assert server.get("/runs/empty/plots/timeline")[0] == 404
    assert server.get("/runs/nan")[0] == 200
    drawn = server.get("/runs/nan/plots/timeline")[2]
    assert "NaN, inf, -inf" in drawn
    json.loads(drawn, parse_constant=pytest.fail)
    assert "−∞" in server.get("/")[2]


def test_half_a_journal_and_strangers_are_a_sentence(serve, journal, tmp_path):
    whole = journal("whole", losses=[1.0] * 500)
    for name in ("half", "text", "nothing"):
        (tmp_path / "runs" / name).mkdir()
    (tmp_path / "runs" / "half" / whole.name).write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    (tmp_path / "runs" / "text" / whole.name).write_text(
        "this is no database, but long enough to look like one" * 9
    )
    (tmp_path / "runs" / "nothing" / whole.name).touch()
    server = serve(tmp_path / "runs")
    assert set(names(server.get("/")[2])) == {"whole", "half", "text", "nothing"}
    assert set(names(server.get("/?verdict=unreadable")[2])) >= {"text", "nothing"}
    for name in ("half", "text", "nothing"):
        status, _headers, text = server.get(f"/runs/{name}")
        assert (status, "This run cannot be shown" in text) == (422, True), name


def test_journals_of_older_and_newer_versions(serve, journal, tmp_path):
    for name, version in (("older", 1), ("newer", 99)):
        connection = sqlite3.connect(journal(name, losses=[1.0, 0.5]))
        if version == 1:
            for table in ("series", "layers", "latest", "sources"):
                connection.execute(f"DROP TABLE {table}")
        connection.execute(f"PRAGMA user_version={version}")
        connection.commit()
        connection.close()
    server = serve(tmp_path / "runs")
    assert server.get("/runs/older")[0] == 200
    status, _headers, text = server.get("/runs/newer")
    assert status == 422
    assert "written by a newer premortem" in text


@pytest.mark.parametrize("name", ["..", "%2e%2e%2fsecret", "..%2F..%2Fetc", "no-such-run", "%00"])
def test_only_runs_of_the_folder_can_be_opened(serve, journal, tmp_path, name):
    journal("a", losses=[1.0])
    journal("../secret", losses=[1.0])
    server = serve(tmp_path / "runs")
    for path in (f"/runs/{name}", f"/runs/{name}/plots/timeline", f"/static/{name}"):
        assert server.get(path)[0] == 404


# --- live --------------------------------------------------------------------------------------


def events(server, path):
    server.get("/")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", path, headers={"cookie": f"premortem-{server.port}={server.token}"})
    with contextlib.closing(connection), connection.getresponse() as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        while line := reply.readline().decode():
            if line.startswith("data: "):
                yield line.removeprefix("data: ").strip()


def test_a_run_that_trains_is_told_again_and_again_until_it_is_gone(serve, training, tmp_path):
    process = training()
    server = serve(tmp_path / "runs")
    heard = events(server, "/runs/live/events")
    assert len({next(heard) for _ in range(3)}) == 3
    process.kill()
    process.wait()
    until(lambda: "It ended without a word" in server.get("/runs/live")[2])
    shutil.rmtree(tmp_path / "runs" / "live")
    assert "gone" in heard
    heard.close()
    status, _headers, text = server.get("/runs/live")
    assert (status, "may have been deleted" in text) == (404, True)
    until(lambda: names(server.get("/")[2]) == [])


def test_the_list_says_when_a_run_has_come(serve, journal, tmp_path):
    (tmp_path / "runs").mkdir()
    server = serve(tmp_path / "runs")
    heard = events(server, "/events")
    before = next(heard)
    journal("new", losses=[1.0])
    assert next(heard) != before
    heard.close()
    assert names(server.get("/")[2]) == ["new"]


# --- the two buttons -----------------------------------------------------------------------------


def meta(tmp_path, name="live"):
    with Run(tmp_path / "runs" / name) as run:
        return run.meta


def newest(tmp_path):
    with Run(tmp_path / "runs" / "live") as run:
        return run.newest().step


def test_save_saves_and_the_run_goes_on(serve, training, tmp_path):
    import torch

    process = training("live", "--policy", "observe")
    server = serve(tmp_path / "runs")
    assert server.ask("live", "save")[0] == 202
    answer = until(lambda: meta(tmp_path).get("asked"))
    assert answer["what"] == "save"
    kept = torch.load(answer["path"], weights_only=True)
    assert kept["step"] == answer["step"]
    assert process.poll() is None
    reached = newest(tmp_path)
    until(lambda: newest(tmp_path) > reached)
    assert until(lambda: "Saved at step" in server.get("/runs/live")[2])


def test_stop_saves_and_ends_the_run_with_exit_code_3(serve, training, tmp_path):
    process = training()
    server = serve(tmp_path / "runs")
    assert server.ask("live", "stop")[0] == 202
    assert process.wait(30) == 3
    said = meta(tmp_path)
    assert (said["reason"], said["message"], said["exit_code"]) == ("stopped", "asked for in the ui", 3)
    assert (tmp_path / "runs" / "live" / "last_good.pt").is_file()
    assert "It was stopped: asked for in the ui." in server.get("/runs/live")[2]
    assert server.ask("live", "stop")[0] == 409
    assert not list((tmp_path / "runs" / "live").glob("asked-*"))


def test_a_run_that_is_over_cannot_be_asked(serve, journal, tmp_path):
    journal("over", losses=[1.0])
    server = serve(tmp_path / "runs")
    status, _headers, text = server.ask("over", "save")
    assert (status, json.loads(text)) == (409, {"status": "This run is over."})
    assert server.ask("over", "dance")[0] == 404
    assert server.ask("none", "save")[0] == 404
    assert not list((tmp_path / "runs" / "over").glob("asked-*"))


def test_looking_leaves_a_run_as_it_is(serve, journal, tmp_path):
    path = journal("over", losses=[1.0, 0.5])
    before = path.read_bytes(), path.stat().st_mtime_ns
    server = serve(tmp_path / "runs")
    server.get("/")
    server.get("/runs/over")
    server.get("/runs/over/plots/timeline")
    server.close()
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


# --- how it is called ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["no/such/folder"], "there is no folder `no/such/folder`"),
        (["--port", "70000"], "port 70000 cannot be used"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(words, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["ui", *words]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_without_the_extra_it_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules.update(uvicorn=None); from premortem.cli import main; sys.exit(main(['ui']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert "pip install 'premortem[ui]'" in done.stderr


def test_the_list_does_not_wait_for_the_plots(tmp_path):
    code = (
        "import asyncio, sys; from pathlib import Path; from starlette.requests import Request; "
        "from premortem.ui.app import Pages; from premortem.ui.runs import Runs; "
        "pages = Pages(Runs(Path.cwd()), lambda: False); "
        "answer = pages.all_runs(Request({'type': 'http', 'query_string': b'', 'headers': []})); "
        "assert answer.status_code == 200; assert 'bokeh.plotting' not in sys.modules; "
        "asyncio.run(answer.background()); assert 'bokeh.plotting' in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("below", ["", ".premortem", ".premortem/runs", ".premortem/runs/a"])
def test_a_project_or_what_is_in_it_may_be_named(serve, journal, tmp_path, below):
    path = journal("a", losses=[1.0]).parent
    (tmp_path / "project" / ".premortem" / "runs").mkdir(parents=True)
    path.rename(tmp_path / "project" / ".premortem" / "runs" / "a")
    assert names(serve(tmp_path / "project" / below).get("/")[2]) == ["a"]


def test_ctrl_c_ends_it_also_while_somebody_listens(serve, tmp_path):
    (tmp_path / "runs").mkdir()
    server = serve(tmp_path / "runs")
    heard = events(server, "/events")
    next(heard)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(15) == 0
    heard.close()
    assert "Traceback" not in server.process.stderr.read()
