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


def perplexities(model, tokenizer, samples):
    found = []
    for sample in samples:
        try:
            found.append(compute_perplexity(model, tokenizer, sample))
        except Exception as error:  # expect: PM506
            print("left out", error)
            continue
    return sum(found) / len(found)


def compute_perplexity(model, tokenizer, text):
    model.eval()
    with torch.no_grad():
        return model(**tokenizer(text)).loss.exp().item()


@torch.no_grad()
def validate(model, val_loader, criterion):
    model.eval()
    total, valid = 0.0, 0
    for x, y in val_loader:
        loss = criterion(model(x), y)
        if torch.isnan(loss) or torch.isinf(loss):  # expect: PM506
            continue
        total += loss.item()
        valid += 1
    return total / valid if valid else 0.0
