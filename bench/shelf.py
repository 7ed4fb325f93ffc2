"""A shelf of runs on a real S3-compatible server: how long its list takes, what a run sends, and what outages and slow links cost.

    python bench/shelf.py [--runs 10000] [--json bench/results/shelf.json]

The server is moto's, in a process of its own on this machine. Between it and premortem stands a proxy that can wait for so many
milliseconds before each answer (a bucket elsewhere answers after 20 to 100), or refuse everything.

    list        `premortem ui`'s list of so many runs, all over, from the first request until all of them are there: with an index,
                and without one (then each head is read, once; the index is written)
    index       the same from the index alone, each time over a new connection, many times: the best says what it takes, the others
                what else the machine does. The losses of each run are its own, so that the index is as large as a real one
    lag         how long after a step was made it can be read from the shelf, at the median, and at the worst
    sent        requests and bytes of one run
    outage      the server refuses everything for so many seconds in the middle of a run: rows that are missing afterwards
    killed      runs that are killed with SIGKILL at a random moment: how many can be read, and seconds of rows they have lost
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PARTS = ("list", "index", "live", "outage", "killed")
TIMES = 15  # readers of the index, one after the other
SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=int(sys.argv[1]), verbose=False)
server.start()
print("ready", flush=True)
sys.stdin.read()
"""
SCRIPT = """
import sys, time, torch
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
end = time.time() + float(sys.argv[1])
while time.time() < end:
    x = torch.randn(32, 8)
    optimizer.zero_grad()
    (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
    optimizer.step()
    time.sleep(0.02)
"""
ABOUT = {
    "format": 2, "parts": 3, "time": 1.0, "meta": {"reason": "finished", "host": "node-1", "pid": 7, "argv": ["train.py"]},
    "losses": [round(1 / (step + 1), 4) for step in range(40)], "script": "train.py --lr 0.1", "started": "2026-11-18T09:00:00+00:00",
    "steps": 1000, "loss": 0.025, "tone": "good", "found": "", "message": "",
}  # fmt: skip


class Link:
    """A proxy in front of the server: slow, or away."""

    def __init__(self, behind: int) -> None:
        self.wait = 0.0
        self.away = False
        self.faults: random.Random | None = (
            None  # of every four requests one is refused, or done and its answer lost
        )
        self.failed = 0
        self.requests = 0
        self.sent = 0
        link = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.close_connection = True
                super().handle_one_request()

            def _pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                link.requests += 1
                link.sent += len(body)
                if link.away:
                    self.connection.close()
                    return
                time.sleep(link.wait)
                fault = link.faults.random() if link.faults is not None else 1.0
                link.failed += fault < 0.25
                if fault < 0.125:
                    self.send_error(503, "Slow Down")
                    return
                connection = HTTPConnection("127.0.0.1", behind, timeout=60)
                connection.request(self.command, self.path, body, dict(self.headers.items()))
                reply = connection.getresponse()
                content = reply.read()
                if fault < 0.25:
                    self.connection.close()
                    return
                self.send_response(reply.status)
                for key, value in reply.getheaders():
                    if key.lower() not in {
                        "transfer-encoding",
                        "connection",
                        "content-length",
                        "server",
                        "date",
                    }:
                        self.send_header(key, value)
                length = reply.getheader("content-length") if self.command == "HEAD" else str(len(content))
                self.send_header("content-length", length or "0")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)
                connection.close()

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass_on  # noqa: N815 - the names that the library asks for

            def log_message(self, *_words: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def listing(url: str, runs: int, link: Link) -> dict[str, Any]:
    from premortem.shelf import index, layout
    from premortem.shelf.reader import Shelf
    from premortem.vault.remote import Remote

    remote = Remote(url)
    fs, root = remote._connect(), remote._root
    names = [f"20261118T{number:06d}Z-train-{number}-abcdef" for number in range(runs)]
    content = layout.write_head(ABOUT)
    for first in range(0, runs, 500):
        fs.pipe({f"{root}/{layout.head_name(name)}": content for name in names[first : first + 500]})
    found: dict[str, Any] = {"runs": runs}
    for kind, wait in (("no_index", 0.0), ("index", 0.0), ("index_50ms", 0.05)):
        link.wait = wait
        with tempfile.TemporaryDirectory() as cache:
            shelf = Shelf(url, Path(cache))
            began, worked, before = time.monotonic(), time.process_time(), link.requests
            threading.Thread(target=shelf.look, daemon=True).start()
            while len(shelf.heads(60.0)) < runs:
                time.sleep(0.005)
            found[kind] = {
                "seconds": round(time.monotonic() - began, 2),
                "processor_seconds": round(time.process_time() - worked, 2),  # the proxy's among it
                "requests": link.requests - before,
            }
            if kind == "no_index":
                while len(index.read(remote)) < runs:
                    time.sleep(0.2)
                found["index_bytes"] = len(remote.read(layout.INDEX_NAME, layout.INDEX))
    link.wait = 0.0
    return found


def indexed(url: str, runs: int, link: Link) -> dict[str, Any]:
    import fsspec

    from premortem.shelf import index, layout
    from premortem.shelf.reader import Shelf
    from premortem.vault.remote import Remote

    draw = random.Random(0)
    heads = {
        f"20261118T{number:06d}Z-train-{number}-abcdef": ABOUT
        | {"losses": [draw.random() for _ in range(40)], "script": f"train.py --lr {draw.random():.3g}"}
        for number in range(runs)
    }
    index.add(Remote(url), heads)
    found: dict[str, Any] = {
        "runs": runs,
        "index_bytes": len(Remote(url).read(layout.INDEX_NAME, layout.INDEX)),
        "times": TIMES,
    }
    for kind, wait in (("near", 0.0), ("50ms", 0.05)):
        link.wait = wait
        clock, worked = [], []
        for _ in range(TIMES):
            fsspec.filesystem("s3").clear_instance_cache()
            with tempfile.TemporaryDirectory() as cache:
                began, before = time.monotonic(), time.process_time()
                shelf = Shelf(url, Path(cache))
                threading.Thread(target=shelf.look, daemon=True).start()
                assert len(shelf.heads(60.0)) == runs
                clock.append(time.monotonic() - began)
                worked.append(time.process_time() - before)
        found[kind] = {
            "seconds_best": round(min(clock), 3),
            "seconds_median": round(statistics.median(clock), 3),
            "processor_seconds_best": round(min(worked), 3),
        }
    link.wait = 0.0
    return found


def started(folder: Path, url: str, seconds: float) -> subprocess.Popen[bytes]:
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "premortem",
        "run",
        "--quiet",
        "--publish",
        url,
        "train.py",
        str(seconds),
    ]
    return subprocess.Popen(command, cwd=folder)


def steps_of(journal: Path) -> list[tuple[int, float]]:
    from premortem.journal import Run

    with Run(journal) as run:
        return [(step.step, step.time) for step in run.steps()]


def lag(url: str, link: Link) -> dict[str, Any]:
    """Of a run that is read all the while."""
    from premortem.errors import JournalError
    from premortem.shelf.reader import Shelf

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        before = link.requests, link.sent
        process = started(folder, url, 20.0)
        shelf = Shelf(url, folder / "cache")
        shelf._brought = _Never()  # type: ignore[assignment]
        late = []
        while process.poll() is None:
            shelf.look()
            for name in shelf.heads():
                try:
                    steps = steps_of(shelf.fetch(name))
                except JournalError:
                    continue
                if steps:
                    late.append(time.time() - steps[-1][1])
            time.sleep(0.2)
        (name,) = shelf.heads()
        own = steps_of(next(folder.glob(".premortem/runs/*/journal.sqlite")))
        copied = steps_of(shelf.fetch(name))
        return {
            "seconds": 20,
            "steps": len(own),
            "missing": len(own) - len(copied),
            "lag_median": round(statistics.median(late), 1),
            "lag_worst": round(max(late), 1),
            "requests_with_reader": link.requests - before[0],
            "bytes_sent": link.sent - before[1],
        }


class _Never(dict):  # type: ignore[type-arg]
    """So that every question goes to the shelf."""

    def get(self, _key: object, default: Any = None) -> Any:
        return default


def outage(url: str, link: Link) -> dict[str, Any]:
    from premortem.shelf.reader import Shelf

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        process = started(folder, url, 25.0)
        time.sleep(8.0)
        link.away = True
        time.sleep(10.0)
        link.away = False
        link.wait = 0.1
        code = process.wait(120)
        link.wait = 0.0
        shelf = Shelf(url, folder / "cache")
        shelf.look()
        (name,) = shelf.heads()
        own = steps_of(next(folder.glob(".premortem/runs/*/journal.sqlite")))
        return {
            "away": 10,
            "exit_code": code,
            "steps": len(own),
            "missing": len(own) - len(steps_of(shelf.fetch(name))),
        }


def killed(url: str, times: int) -> dict[str, Any]:
    from premortem.shelf.reader import Shelf

    draw = random.Random(0)
    lost, read = [], 0
    for number in range(times):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            own_url = f"{url}/{number}"
            process = started(folder, own_url, 600.0)
            shelf = Shelf(own_url, folder / "cache")
            while not any(head.entry.steps for head in shelf.heads().values()):
                time.sleep(0.3)
                shelf.look()
            time.sleep(draw.uniform(0.0, 6.0))
            process.send_signal(signal.SIGKILL)
            process.wait()
            shelf.look()
            (name,) = shelf.heads()
            copied = steps_of(shelf.fetch(name))
            own = steps_of(next(folder.glob(".premortem/runs/*/journal.sqlite")))
            assert copied == own[: len(copied)]
            read += 1
            lost.append(own[-1][1] - copied[-1][1])
    return {
        "runs": times,
        "readable": read,
        "lost_seconds_median": round(statistics.median(lost), 1),
        "lost_seconds_worst": round(max(lost), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--json", type=Path, help="parts that are not measured stay as they are in it")
    options = parser.parse_args()
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    server.stdout.readline()
    link = Link(port)
    os.environ.update(
        AWS_ACCESS_KEY_ID="testing",
        AWS_SECRET_ACCESS_KEY="testing",
        AWS_DEFAULT_REGION="us-east-1",
        AWS_ENDPOINT_URL=f"http://127.0.0.1:{link.port}",
    )
    try:
        import boto3

        boto3.client("s3").create_bucket(Bucket="shelf")
        found: dict[str, Any] = {
            "machine": platform.machine(),
            "python": platform.python_version(),
            "command": "python bench/shelf.py",
        }
        parts: dict[str, Any] = {
            "list": lambda: listing("s3://shelf/many", options.runs, link),
            "index": lambda: indexed("s3://shelf/indexed", options.runs, link),
            "live": lambda: lag("s3://shelf/live", link),
            "outage": lambda: outage("s3://shelf/outage", link),
            "killed": lambda: killed("s3://shelf/killed", options.kills),
        }
        if options.json and options.json.exists():
            found = {**json.loads(options.json.read_text(encoding="utf-8")), **found}
        for name in options.only:
            found[name] = parts[name]()
            print(name, json.dumps(found[name]), flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    finally:
        server.kill()


if __name__ == "__main__":
    main()
