import torch


def train(model, loader, optimizer, folder="/tmp/run"):
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
    torch.save(model.state_dict(), folder + "/final.pt")  # expect: PM544


def main(model, loader, optimizer):
    train(model, loader, optimizer)
