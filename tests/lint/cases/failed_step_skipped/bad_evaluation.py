import torch


@torch.no_grad()
def evaluate(model, val_loader, criterion):
    model.eval()
    losses = []
    total, count = 0.0, 0
    for x, y in val_loader:
        try:
            losses.append(criterion(model(x), y).item())
        except Exception as error:  # expect: PM506
            print("skipped", error)
            continue
    for x, y in val_loader:
        try:
            total += criterion(model(x), y).item()
            count += 1
        except Exception:  # expect: PM506
            pass
    return sum(losses) / len(losses), total / count
