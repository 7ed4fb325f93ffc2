import torch


@torch.no_grad()
def counted(model, val_loader, criterion):
    model.eval()
    losses, failed = [], 0
    for x, y in val_loader:
        try:
            losses.append(criterion(model(x), y).item())
        except Exception:
            failed += 1
    print(failed)
    return sum(losses) / len(losses)


@torch.no_grad()
def pictures(model, test_loader):
    model.eval()
    for x, path in test_loader:
        try:
            torch.save(model(x), path)
        except Exception as error:
            print("skipped", path, error)


@torch.no_grad()
def narrow(model, val_loader, criterion):
    model.eval()
    losses = []
    for x, y in val_loader:
        try:
            losses.append(criterion(model(x), y).item())
        except torch.cuda.OutOfMemoryError:
            continue
    return sum(losses) / len(losses)


@torch.no_grad()
def counted_and_shown(model, val_loader, criterion):
    model.eval()
    total, bad = 0.0, 0
    for x, y in val_loader:
        loss = criterion(model(x), y)
        if torch.isnan(loss):
            bad += 1
            continue
        total += loss.item()
    return total / len(val_loader), bad


@torch.no_grad()
def missing_labels(model, val_loader, criterion):
    model.eval()
    total = 0.0
    for x, y in val_loader:
        if torch.isnan(y).all():
            continue
        total += criterion(model(x), y).item()
    return total / len(val_loader)
