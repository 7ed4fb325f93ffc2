import torch


@torch.no_grad()
def train_step(model, x, y, optimizer, criterion):
    output = model(x)
    loss = criterion(output, y)
    optimizer.zero_grad()
    loss.backward()  # expect: PM549
    optimizer.step()
    return loss.item()
