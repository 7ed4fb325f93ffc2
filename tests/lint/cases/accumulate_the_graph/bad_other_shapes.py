import torch


def fit(model, train_loader, optimizer):
    history = {"loss": []}
    total, kept = 0.0, []
    for x in train_loader:
        optimizer.zero_grad()
        loss = model(x)
        loss.backward()
        optimizer.step()
        history["loss"].append(loss)  # expect: PM543
        total += loss.mean()  # expect: PM543
        kept += [loss]  # expect: PM543
    return history, total, kept
