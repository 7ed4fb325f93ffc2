"""Reads a tracker's files with the tracker's own readers, in a process of its own: they leave threads and wrappers behind."""

import json
import struct
import sys
from pathlib import Path


def mlflow(store):
    from mlflow import MlflowClient

    client = MlflowClient(store)
    (run,) = client.search_runs(["0"])
    key = run.info.run_id
    names = ("premortem/loss", "premortem/loss_not_finite", "mine")
    return {
        "status": run.info.status,
        "tags": run.data.tags,
        "metrics": {
            name: [(m.step, m.value) for m in client.get_metric_history(key, name)] for name in names
        },
        "page": Path(client.download_artifacts(key, "premortem/findings.json")).read_text(encoding="utf-8"),
    }


def wandb(folder):
    """Of all offline files: the last summary, the rows, the tags, the ids of the runs."""
    from wandb.proto import wandb_internal_pb2

    summary, history, tags, ids = {}, [], set(), set()
    for path in sorted(Path(folder).glob("offline-run-*/*.wandb")):
        for data in entries(path.read_bytes()):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            for item in record.summary.update:
                summary[item.key or "/".join(item.nested_key)] = json.loads(item.value_json)
            if record.HasField("history"):
                items = record.history.item
                history.append({i.key or "/".join(i.nested_key): json.loads(i.value_json) for i in items})
            if record.HasField("run"):
                ids.add(record.run.run_id)
                tags |= set(record.run.tags)
    return {"summary": summary, "history": history, "ids": sorted(ids), "tags": sorted(tags)}


def entries(data, block=32768, header=7):
    """W&B has no reader of its offline files in Python any more: LevelDB's log, in blocks, of its protobuf records."""
    position, whole = header, b""
    while position + header <= len(data):
        left = block - position % block
        if left < header:
            position += left
            continue
        _checksum, length, kind = struct.unpack("<IHB", data[position : position + header])
        if kind == 0:  # the rest of the block is empty
            position += left
            continue
        whole += data[position + header : position + header + length]
        position += header + length
        if kind in {1, 4}:  # whole, or the last part of one
            yield whole
            whole = b""


sys.stdout.write(json.dumps({"mlflow": mlflow, "wandb": wandb}[sys.argv[1]](sys.argv[2])) + "\n")
