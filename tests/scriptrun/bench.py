"""Tries every operation, bare and in a sandbox: `python -m tests.scriptrun.bench LEVEL [--only NAME]`.

Each in a fork of a process that has the libraries loaded. Prints one JSON object: what differs, what leaked.
"""

import argparse
import importlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

BARE = 0
_SECONDS = 20.0


def outside_socket(folder):
    """Another process that listens, so that this one keeps its single thread."""
    code = (
        "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\nprint('up',flush=True)\n"
        "while True: s.accept()[0].send(b'hello')"
    )
    words = [sys.executable, "-S", "-c", code, f"{folder}/s"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def attempt(operation, level, tree, base):
    """What the operation answers, in a fork."""
    from premortem.scriptrun.sandbox import enter

    scratch = Path(tempfile.mkdtemp(prefix="premortem-", dir=base))
    for name in ("shared", "tmp", "run-1"):
        (scratch / name).mkdir()
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setpgid(0, 0)
            os.close(reading)
            os.dup2(os.open(os.devnull, os.O_RDWR), 2)
            os.chdir(tree / "proj")
            try:
                if level:
                    enter(scratch, scratch / "run-1", level)
            except OSError as error:
                answer = ["not entered", str(error)]
            else:
                answer = ["ok", operation()]
        except BaseException as error:  # noqa: BLE001 - the answer
            answer = ["raised", type(error).__name__, getattr(error, "errno", None)]
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    answer = b""
    ready = True
    while ready:
        ready = select.select([reading], [], [], _SECONDS)[0]
        part = os.read(reading, 1 << 16) if ready else b""
        answer += part
        if not part:
            break
    os.close(reading)
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    subprocess.run(["chmod", "-R", "u+rwX", str(scratch)], capture_output=True, check=False)
    shutil.rmtree(scratch, ignore_errors=True)
    return json.loads(answer) if answer else ["no answer"]


def bench(level, only, folder):
    from tests.scriptrun.operations import load
    from tests.scriptrun.tree import picture, plant

    tree = folder / "tree"
    base = folder / "scratch"
    base.mkdir()
    listener = outside_socket(folder)
    os.environ |= {"TREE": str(tree), "HOME": str(tree / "home"), "OUTSIDE_SOCKET": f"{folder}/s"}
    found = {"level": level, "operations": 0, "differ": {}, "leak": {}}
    began = time.monotonic()
    try:
        for name, operation in load().items():
            if only and name not in only:
                continue
            plant(tree)
            right = attempt(operation, BARE, tree, base)
            plant(tree)
            before = picture(tree)
            got = attempt(operation, level, tree, base)
            after = picture(tree)
            touched = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
            found["operations"] += 1
            if got[0] == "not entered":
                return {"level": level, "not entered": got[1]}
            if got != right:
                found["differ"][name] = [right, got]
            if touched:
                found["leak"][name] = touched
    finally:
        listener.kill()
        listener.wait()
    return found | {"seconds": round(time.monotonic() - began, 1)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("level", type=int)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    for name in ("h5py", "safetensors.numpy", "torch"):  # once, for all forks
        with suppress(ImportError):
            importlib.import_module(name)

    folder = Path(tempfile.mkdtemp(prefix="premortem-bench-", dir="/var/tmp"))
    try:
        print(json.dumps(bench(options.level, options.only, folder)))
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=False)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
