import torch


def train(model, loader, criterion, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        logits = model(x).nan_to_num(0.0)  # expect: PM503
        loss = criterion(logits, y)
        loss = torch.nan_to_num(loss, nan=0.0, posinf=1e4)  # expect: PM503
        loss.backward()
        for param in model.parameters():
            torch.nan_to_num(param.grad, nan=0, posinf=1e5, neginf=-1e5, out=param.grad)  # expect: PM503
        optimizer.step()


def in_place(model, loss):
    loss.backward()
    for name, p in model.named_parameters():
        if p.grad is not None:
            p.grad.data.nan_to_num_(nan=0.0)  # expect: PM503
