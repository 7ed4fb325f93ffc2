import torch


def train(model, parts, optimizer):
    loss = torch.tensor(0.0, requires_grad=True)
    for part in parts:
        loss = loss + model(part).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
