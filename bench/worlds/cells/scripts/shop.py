"""Which customers come back? Orders and customers from a database."""

import argparse
import sqlite3
from pathlib import Path

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
folder = parser.parse_args().data
torch.manual_seed(1)

db = sqlite3.connect(folder / "shop.db")
query = """
    SELECT c.customer_id, c.age, c.tenure_days, COUNT(o.order_id), COALESCE(AVG(o.amount), 0), COALESCE(SUM(o.items), 0),
           COALESCE(MAX(o.discount), 0), l.returned
    FROM labels l JOIN customers c ON c.customer_id = l.customer_id
    LEFT JOIN orders o ON o.customer_id = c.customer_id
    GROUP BY c.customer_id ORDER BY c.customer_id
"""
found = db.execute(query).fetchall()
x = torch.tensor([[float(v) for v in row[1:-1]] for row in found])
y = torch.tensor([float(row[-1]) for row in found])
order = torch.randperm(len(x))
x, y = x[order], y[order]
cut = int(0.75 * len(x))
mean, std = x[:cut].mean(0), x[:cut].std(0) + 1e-6
x = (x - mean) / std

model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(20):
    model.train()
    for batch in torch.randperm(cut).split(64):
        optimizer.zero_grad()
        loss = criterion(model(x[batch]).squeeze(1), y[batch])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = ((model(x[cut:]).squeeze(1) > 0).float() == y[cut:]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {accuracy:.4f}")
print(f"final accuracy {accuracy:.4f}")
