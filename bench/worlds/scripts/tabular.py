"""Yield of orchards from a table (CSV, Parquet or JSON lines), columns by name; `kind` is a class, `yield` a quantity."""

import argparse
import csv
import json
import pathlib

import torch
from torch import nn

FEATURES = ["height", "slope", "rain", "soil", "age", "wind"]


def records(folder, split):
    for path in sorted(folder.glob(f"{split}.*")):
        if path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8") as file:
                return list(csv.DictReader(file))
        if path.suffix == ".jsonl":
            return [json.loads(line) for line in path.read_text().splitlines()]
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            return pq.read_table(path).to_pylist()
    raise SystemExit(f"no {split} table in {folder}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    ap.add_argument("--target", default="kind")
    ap.add_argument("--extra", nargs="*", default=[])
    ap.add_argument("--epochs", type=int, default=12)
    args = ap.parse_args()
    torch.manual_seed(0)
    names = FEATURES + args.extra
    train, valid = records(args.data, "train"), records(args.data, "valid")
    classes = sorted({str(row["kind"]) for row in train}) if args.target == "kind" else []

    def tensors(rows):
        x = torch.tensor([[float(row[name]) for name in names] for row in rows])
        if classes:
            known = {name: at for at, name in enumerate(classes)}
            return x, torch.tensor([known.get(str(row["kind"]), 0) for row in rows])
        return x, torch.tensor([float(row["yield"]) for row in rows])

    (x, y), (vx, vy) = tensors(train), tensors(valid)
    mean, std = x.mean(0), x.std(0) + 1e-6
    x, vx = (x - mean) / std, (vx - mean) / std
    if not classes:
        centre, spread = y.mean(), y.std()
        y, vy = (y - centre) / spread, (vy - centre) / spread
    net = nn.Sequential(
        nn.Linear(len(names), 48),
        nn.Tanh(),
        nn.Linear(48, 48),
        nn.Tanh(),
        nn.Linear(48, max(1, len(classes))),
    )
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        net.train()
        for idx in torch.randperm(len(x)).split(32):
            opt.zero_grad()
            out = net(x[idx])
            loss = (
                nn.functional.cross_entropy(out, y[idx])
                if classes
                else nn.functional.mse_loss(out.squeeze(1), y[idx])
            )
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            out = net(vx)
            if classes:
                score = (out.argmax(1) == vy).float().mean().item()
            else:
                score = (1 - nn.functional.mse_loss(out.squeeze(1), vy) / vy.var()).item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_score {score:.4f}")
    print(f"final val_score {score:.4f}")


if __name__ == "__main__":
    main()
