import torch
from torch.utils.data import DataLoader


def train(model, dataset, rows, optimizer):
    random_rows = rows[torch.randperm(len(rows))]
    for loader in (DataLoader(dataset, 8), DataLoader(random_rows, 8)):
        for batch in loader:
            optimizer.zero_grad()
            model(batch).mean().backward()
            optimizer.step()
