"""A mirror that fails, stalls and truncates: a real S3 server behind a proxy that breaks connections.

The process that mirrors is killed in the middle and started again. Beside it somebody looks at the server the whole
time: once one checkpoint is there and verified, there must never be none.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import shutil
import socket
import threading
import time
from pathlib import Path
from typing import Any

from checkpoint.forks import Done, Victim

_BUCKET = "runs"
_SIZE = 512 << 10
_FATES = ("pass", "pass", "pass", "refuse", "truncate", "stall")
_STALL = 2.0  # seconds, then the connection is gone


class Proxy:
    """Between a client and the server; each connection has a fate."""

    def __init__(self, port: int, seed: int = 0) -> None:
        self._target = port
        self._dice = random.Random(seed)
        self.kind = True  # lets everything through
        self.fates: dict[str, int] = dict.fromkeys(_FATES, 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            fate = "pass" if self.kind else self._dice.choice(_FATES)
            self.fates[fate] += 1
            room = self._dice.randrange(200, _SIZE)
            threading.Thread(target=self._serve, args=(client, fate, room), daemon=True).start()

    def _serve(self, client: socket.socket, fate: str, room: int) -> None:
        with client:
            if fate == "refuse":
                return
            with socket.create_connection(("127.0.0.1", self._target)) as server:
                back = threading.Thread(target=pump, args=(server, client, None, "pass"), daemon=True)
                back.start()
                pump(client, server, None if fate == "pass" else room, fate)
                back.join(1.0 if fate == "pass" else 0.0)

    def close(self) -> None:
        self._listener.close()


def pump(source: socket.socket, target: socket.socket, room: int | None, fate: str) -> None:
    """Bytes from one to the other; after `room` of them the fate strikes."""
    passed = 0
    try:
        while block := source.recv(1 << 14):
            passed += len(block)
            if room is not None and passed > room:
                if fate == "stall":
                    time.sleep(_STALL)
                return
            target.sendall(block)
    except OSError:
        return


class Onlooker:
    """Asks the server itself, not through the proxy, what is there and whole."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.most = 0
        self.gone = 0  # times that there was nothing whole any more
        self.broken = 0  # manifests whose file is not what they say
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def whole(self) -> list[str]:
        found = []
        for name in self._names():
            if name.endswith(".manifest.json"):
                manifest = self._content(name)
                file = self._content(name.removesuffix(".manifest.json"))
                if manifest is None:
                    continue  # rotated away between the two questions
                [record] = json.loads(manifest)["files"].values()
                if file is not None and hashlib.sha256(file).hexdigest() == record["sha256"]:
                    found.append(name.removesuffix(".manifest.json"))
                elif self._content(name) is not None:
                    self.broken += 1
        return sorted(found)

    def _names(self) -> list[str]:
        answer = self._client.list_objects_v2(Bucket=_BUCKET)
        return [entry["Key"] for entry in answer.get("Contents", [])]

    def _content(self, name: str) -> bytes | None:
        try:
            content: bytes = self._client.get_object(Bucket=_BUCKET, Key=name)["Body"].read()
        except self._client.exceptions.NoSuchKey:
            return None
        return content

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            count = len(self.whole())
            self.gone += count == 0 < self.most
            self.most = max(self.most, count)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()


def mirroring(folder: Path, versions: int, patience: float, done: Done) -> None:
    from premortem.vault.mirror import Mirror

    mirror = Mirror(f"s3://{_BUCKET}/one", folder / "spool", keep=2, patience=patience)
    known = int((folder / "made").read_text()) if (folder / "made").exists() else 0
    for version in range(known + 1, versions + 1):
        file = folder / f"{version}.pt"
        file.write_bytes(content_of(version))
        mirror.put(file, f"last.pt/{version:06d}.pt", group="last.pt")
        (folder / "made").write_text(str(version))
        done(version)
        time.sleep(0.05)
    while mirror.status().pending:
        time.sleep(0.05)
    done(versions + 1)


def content_of(version: int) -> bytes:
    return hashlib.sha256(str(version).encode()).digest() * (_SIZE // 32)


def mirrors(versions: int, kills: int, scratch: Path) -> dict[str, Any]:
    import boto3  # type: ignore[import-untyped]
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    proxy = Proxy(port)
    os.environ.update(
        AWS_ACCESS_KEY_ID="bench",
        AWS_SECRET_ACCESS_KEY="bench",
        AWS_DEFAULT_REGION="us-east-1",
        AWS_ENDPOINT_URL=f"http://127.0.0.1:{proxy.port}",
    )
    client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}")
    client.create_bucket(Bucket=_BUCKET)
    folder = scratch / "mirror"
    folder.mkdir()
    onlooker = Onlooker(client)
    proxy.kind = False
    dice = random.Random(0)
    for number in range(kills):
        so_far = versions * (number + 1) // (kills + 1)
        victim = Victim(lambda done, so_far=so_far: mirroring(folder, so_far, 6.0, done))
        victim.kill_within(6.0, dice)
    proxy.kind = True
    last = Victim(lambda done: mirroring(folder, versions, 6.0, done))
    last.wait_for(versions + 1)
    last.finish()
    whole = onlooker.whole()
    onlooker.close()
    proxy.close()
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "checkpoints": versions,
        "kills": kills,
        "connections": proxy.fates,
        "newest there": bool(whole) and whole[-1].endswith(f"{versions:06d}.pt"),
        "kept": len(whole),
        "times that nothing was there": onlooker.gone,
        "manifests of files that are not whole": onlooker.broken,
    }
