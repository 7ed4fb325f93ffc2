"""A mirror on a real S3-compatible server, on this machine.

In a process of its own: the server and fsspec leave threads behind.
"""

import subprocess
import sys

SCRIPT = """
import os, socket, sys
from pathlib import Path

import boto3
from moto.server import ThreadedMotoServer

from premortem.vault.manifest import Manifest
from premortem.vault.mirror import Mirror

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
server.start()
os.environ.update(
    AWS_ACCESS_KEY_ID="testing",
    AWS_SECRET_ACCESS_KEY="testing",
    AWS_DEFAULT_REGION="us-east-1",
    AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}",
)
bucket = boto3.client("s3")
bucket.create_bucket(Bucket="ckpts")

here = Path(sys.argv[1])
mirror = Mirror("s3://ckpts/here", here / "spool", keep=2)
for number in range(4):
    (here / "new").write_bytes(bytes([number]) * 100_000)
    (here / "new").replace(here / "best.pt")
    mirror.put(here / "best.pt", f"run/best.pt/{number}.pt", group="best.pt", about={"step": number})
assert mirror.flush(60), mirror.status()
mirror.close()
print(*sorted(each["Key"] for each in bucket.list_objects_v2(Bucket="ckpts")["Contents"]), sep="\\n")
manifest = Manifest.parse(mirror.remote.read("run/best.pt/3.pt.manifest.json", 1 << 20), "mirror")
print(manifest.step, mirror.remote.sha256("run/best.pt/3.pt") == manifest.files["3.pt"].sha256)
server.stop()
"""


def test_what_is_mirrored_can_be_read_back_and_older_ones_are_rotated(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.splitlines() == [
        "here/run/best.pt/2.pt",
        "here/run/best.pt/2.pt.manifest.json",
        "here/run/best.pt/3.pt",
        "here/run/best.pt/3.pt.manifest.json",
        "3 True",
    ], done.stderr[-2000:]
