import torch


def train(model, loader, criterion, optimizer):
    totals = {name: 0.0 for name in ["shape", "smooth"]}
    counted = 0.0
    for batch, target in loader:
        optimizer.zero_grad()
        parts = criterion(model(batch), target)
        loss = parts["total"]
        loss.backward()
        optimizer.step()
        for name in totals:  # entries that may be numbers: the one that went backward is not among them
            totals[name] += parts[name]
        counted += parts["count"]
    return totals, counted


def train_numbers(model, loader, criterion, optimizer):
    totals = {"total": 0.0}
    for batch, target in loader:
        optimizer.zero_grad()
        parts = criterion(model(batch), target)
        parts["total"].backward()
        optimizer.step()
        parts = {name: value.item() for name, value in parts.items()}
        for name in totals:
            totals[name] += parts[name]
    return totals


def train_short(model, loader, criterion, optimizer):
    for batch, target in loader:
        totals = {"total": 0.0}
        optimizer.zero_grad()
        parts = criterion(model(batch), target)
        parts["total"].backward()
        optimizer.step()
        for name in totals:
            totals[name] += parts[name]
    return totals, torch.__version__
