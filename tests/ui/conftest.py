"""A real server over a folder of runs, real runs that train in it, and a browser."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from http.cookiejar import CookieJar

import pytest

from premortem.errors import JournalError
from premortem.events import StepStats
from premortem.findings import Certainty, Finding, Severity
from premortem.journal import Journal, Run
from tests import browsing, starting

TRAINS = """
import time
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x.sum(1, keepdim=True)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(100_000):
    loss = (model(x) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(0.02)
"""


def until(happened, seconds=30.0):
    """What it returns once that is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := happened():
            return found
        time.sleep(0.05)
    pytest.fail(f"it did not happen in {seconds:.0f} s")


def end(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Server:
    def __init__(self, folder, *words, cwd=None):
        command = [sys.executable, "-m", "premortem", "ui", *([str(folder)] if folder else []), *words]
        self.process = starting.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd
        )
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.stderr.read()
        self.base, _query, self.token = self.url.partition("/?token=")
        self.port = int(self.base.rpartition(":")[2])
        self.cookies = CookieJar()
        self._opener = opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def get(self, path, *, headers=None, method="GET", timeout=30):
        """Status, headers and text, as somebody who has the token."""
        if not self.cookies:
            self._opener.open(self.url, timeout=timeout).close()
        request = urllib.request.Request(self.base + path, headers=headers or {}, method=method)
        return answer(lambda: self._opener.open(request, timeout=timeout))

    def ask(self, name, what):
        own = {"x-premortem": "1", "origin": self.base}
        return self.get(f"/runs/{name}/ask/{what}", method="POST", headers=own)

    def stranger(self, path, headers=None, method="GET"):
        request = urllib.request.Request(self.base + path, headers=headers or {}, method=method)
        return answer(lambda: opener().open(request, timeout=30))

    def close(self):
        end(self.process)
        self.process.stdout.close()
        self.process.stderr.close()


def opener(*handlers):
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), *handlers)


def answer(call):
    try:
        with call() as reply:
            return reply.status, reply.headers, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read().decode()


@pytest.fixture
def serve():
    """Starts `premortem ui` over a folder."""
    servers = []

    def started(folder, *words, cwd=None):
        servers.append(Server(folder, *words, cwd=cwd))
        return servers[-1]

    yield started
    for server in servers:
        server.close()


@pytest.fixture
def training(tmp_path):
    """Starts a real run in `runs/NAME`, and returns its process when it has made some steps."""
    processes = []

    def started(name="live", *words):
        script = tmp_path / "train.py"
        script.write_text(TRAINS)
        folder = tmp_path / "runs" / name
        process = starting.Popen(
            [sys.executable, "-m", "premortem", "run", *words, "--folder", folder, script],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        processes.append(process)

        def stepped():
            assert process.poll() is None, process.stdout.read()
            if not (folder / "journal.sqlite").is_file():
                return None
            try:
                with Run(folder) as run:
                    newest = run.newest()
            except JournalError:  # its file is there, its tables are not
                return None
            return newest is not None and newest.step > 5

        until(stepped, 60)
        return process

    yield started
    for process in processes:
        end(process)
        process.stdout.close()


@pytest.fixture
def journal(tmp_path):
    """Makes the journal of a run that is over."""

    def made(name, *, losses=(), findings=(), **meta):
        opened = Journal.open(
            tmp_path / "runs" / name,
            meta={"argv": ["train.py"], "reason": "finished", "steps": len(losses), **meta},
            on_problem=pytest.fail,
        )
        for number, loss in enumerate(losses, start=1):
            stats = StepStats(step=number, optimizer=1, loss=loss, grad_norm=1.0, worst=None, lr=0.1)
            opened.step(stats, 1000.0 + number)
        for each in findings:
            opened.finding(each)
        opened.close()
        return opened.path

    return made


def finding(severity=Severity.ERROR, message="the loss is NaN", **changes):
    given = {
        "code": "PM442",
        "name": "non-finite-training",
        "family": "numerics-nan",
        "severity": severity,
        "certainty": Certainty.MEASURED,
        "step": 3,
        "message": message,
        **changes,
    }
    return Finding(**given)


@pytest.fixture(scope="module")
def chromium():
    with browsing.chromium() as opened:
        yield opened


@pytest.fixture
def visit(chromium):
    """Opens an address; what the console complains about and what is asked of others is collected."""
    contexts = []

    def opened(server, path="/", width=1280, scheme="light"):
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.complaints = []
        page.on(
            "console",
            lambda line: page.complaints.append(line.text) if line.type in {"error", "warning"} else None,
        )
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((server.base, "data:"))
                else page.complaints.append(request.url)
            ),
        )
        page.goto(server.url)
        if path != "/":
            page.goto(server.base + path)
        return page

    yield opened
    for context in contexts:
        context.close()
