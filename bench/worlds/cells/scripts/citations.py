"""Subjects of papers: a table of nodes, a table of edges, one layer of neighbours."""

import argparse
import csv
from pathlib import Path

import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
folder = parser.parse_args().data
torch.manual_seed(7)

with (folder / "papers.csv").open(newline="") as file:
    papers = list(csv.DictReader(file))
place = {row["paper_id"]: at for at, row in enumerate(papers)}
y = torch.tensor([int(row["subject"]) for row in papers])
train = torch.tensor([row["split"] == "train" for row in papers])
features = torch.from_numpy(np.load(folder / "features.npy")).float()
adjacency = torch.eye(len(papers))
with (folder / "cites.csv").open(newline="") as file:
    for row in csv.DictReader(file):
        a, b = place.get(row["source"]), place.get(row["target"])
        if a is not None and b is not None:
            adjacency[a, b] = adjacency[b, a] = 1
adjacency = adjacency / adjacency.sum(1, keepdim=True)

first, second = nn.Linear(features.shape[1], 32), nn.Linear(32, int(y.max()) + 1)
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-2, weight_decay=5e-4)
criterion = nn.CrossEntropyLoss()
for epoch in range(60):
    optimizer.zero_grad()
    scores = adjacency @ second(torch.relu(adjacency @ first(features)))
    loss = criterion(scores[train], y[train])
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        accuracy = (scores[~train].argmax(1) == y[~train]).float().mean().item()
    if epoch % 10 == 9:
        print(f"epoch {epoch} loss {loss.item():.4f} accuracy {accuracy:.4f}")
print(f"final accuracy {accuracy:.4f}")
