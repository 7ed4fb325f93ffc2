"""A real agent of W&B's (`wandb agent`) and real trials. Only its server is a stand-in: it answers the three questions that an
agent asks, on this machine."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("wandb", reason="wandb is not installed: make doors")

TRAIN = """
import argparse
import torch
import wandb
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
rate = parser.parse_args().lr
with wandb.init(mode="offline") as run:
    assert dict(run.config) == {"lr": rate}
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for step in range(60):
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.log({"loss": loss.item()})
"""
# As docs/sweep.md has it; JSON is YAML.
SWEEP = {
    "program": "train.py",
    "method": "grid",
    "command": [sys.executable, "-m", "premortem", "run", "--policy", "strict", "${program}", "${args}"],
    "parameters": {"lr": {"values": [2.0, 1.0, 3.0, 0.001]}},
}


class Server(ThreadingHTTPServer):
    """One sweep, its trials one after the other."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.waiting = [{"lr": {"value": rate}} for rate in SWEEP["parameters"]["lr"]["values"]]  # type: ignore[index]

    def answer(self, asked: str, given: dict[str, Any]) -> dict[str, Any]:
        if "SweepWithRuns" in asked:
            return {"project": {"sweep": {"name": "s", "config": json.dumps(SWEEP), "runs": {"edges": []}}}}
        if "CreateAgent" in asked:
            return {"createAgent": {"agent": {"id": "agent"}}}
        if "Heartbeat" in asked:
            return {"agentHeartbeat": {"agent": {"id": "agent"}, "commands": json.dumps(self._next(given))}}
        return {"viewer": {"id": "u", "username": "u", "entity": "u", "flags": "{}", "teams": {"edges": []}}}

    def _next(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        if any(json.loads(given["runState"]).values()):
            return []
        if not self.waiting:
            return [{"type": "exit"}]
        run = f"run-{len(self.waiting)}"
        return [{"type": "run", "run_id": run, "program": "train.py", "args": self.waiting.pop(0)}]


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        found = self.path.endswith("/graphql")  # what it tells its makers about itself goes elsewhere
        asked = json.loads(body) if found else {}
        reply = json.dumps(
            {"data": self.server.answer(asked["query"], asked.get("variables") or {})} if found else {}
        ).encode()
        self.send_response(200 if found else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_words: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def agent(folder: Any, server: Server, **more: str) -> str:
    (folder / "train.py").write_text(TRAIN)
    done = subprocess.run(
        [sys.executable, "-m", "wandb", "agent", "u/project/s"],
        cwd=folder,
        env={
            **os.environ,
            "WANDB_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}",
            "WANDB_API_KEY": "0" * 40,
            "WANDB_ERROR_REPORTING": "false",
            **more,
        },
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout + done.stderr


def test_doomed_trials_end_and_the_agent_goes_on_to_the_healthy_one(server, tmp_path, capsys):
    """Three that fail in the first minute would end the agent, without the variables that docs/sweep.md names."""
    more = {"WANDB_AGENT_DISABLE_FLAPPING": "true", "WANDB_AGENT_MAX_INITIAL_FAILURES": "1000"}
    text = agent(tmp_path, server, **more)
    assert text.count("error PM213 updates-too-large") == 3, text[-4000:]

    from premortem.cli import main

    assert main(["sweep", "--format", "json", str(tmp_path)]) == 1
    trials = json.loads(capsys.readouterr().out)["trials"]
    assert {each["settings"]["lr"]: each["errors"] for each in trials} == {
        2.0: ["PM213"],
        1.0: ["PM213"],
        3.0: ["PM213"],
        0.001: [],
    }
