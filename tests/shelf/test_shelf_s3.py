"""A shelf on a real S3-compatible server, behind a link that is slow, refuses, and drops what it was given.

In a process of its own: the server and fsspec leave threads behind.
"""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, random, sys, time
from pathlib import Path

import boto3
from moto.server import ThreadedMotoServer

from bench.shelf import Link, free_port
from premortem.shelf import publisher
from premortem.shelf.publisher import Publisher
from premortem.shelf.reader import Shelf
from premortem.vault.remote import Remote
from tests.shelf.test_shelf import begun, found, go_on, rows

port = free_port()
ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False).start()
link = Link(port)
os.environ.update(
    AWS_ACCESS_KEY_ID="testing",
    AWS_SECRET_ACCESS_KEY="testing",
    AWS_DEFAULT_REGION="us-east-1",
    AWS_ENDPOINT_URL=f"http://127.0.0.1:{link.port}",
)
boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}").create_bucket(Bucket="runs")
publisher.EVERY = publisher.LONGEST = 0.05
link.wait = 0.05  # of every answer
link.faults = random.Random(0)
here, said = Path(sys.argv[1]), []
journals = [begun(here / f"runs-{number}" / "run") for number in range(4)]  # all at once, into one index
publishing = [Publisher("s3://runs/here", each.path.parent, said.append) for each in journals]
for each in publishing:
    each.start()
round_ = 0
while link.failed < 8:  # more than any of the four is spared
    for journal in journals:
        go_on(journal, 10 * round_, 10 * round_ + 10)
    round_ += 1
    time.sleep(0.3)
link.faults = None
for journal, each in zip(journals, publishing):
    journal.finding(found())
    journal.note(reason="finished")
    journal.close()
    each.close(60)
shelf = Shelf("s3://runs/here", here / "cache")
shelf.look()
print(len(shelf.heads()), all(head.over for head in shelf.heads().values()))
print(all(rows(shelf.fetch(each.runs[0].name)) == rows(journal.path) for journal, each in zip(journals, publishing)))
os._exit(0)
"""


@pytest.mark.slow
def test_runs_that_share_a_bad_link_are_whole_on_the_shelf(tmp_path):
    command, root = [sys.executable, "-c", SCRIPT, tmp_path], Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout.splitlines() == ["4 True", "True"], done.stderr[-2000:]
