import torch


def train(model, loader, criterion, optimizer):
    totals = {name: 0.0 for name in ["total", "shape", "smooth"]}
    for batch, target in loader:
        optimizer.zero_grad()
        parts = criterion(model(batch), target)
        loss = parts["total"]
        loss.backward()
        optimizer.step()
        for name in totals:
            totals[name] += parts.get(name, 0.0)  # expect: PM543
    return {name: value / len(loader) for name, value in totals.items()}


def train_more(model, loader, criterion, optimizer):
    total, first = 0.0, 0.0
    sums = {}
    for batch, target in loader:
        optimizer.zero_grad()
        parts = criterion(model(batch), target)
        parts["total"].backward()
        optimizer.step()
        total += parts["total"]  # expect: PM543
        for name in parts:
            sums[name] += parts[name]  # expect: PM543
    return total, first, sums, torch.__version__
