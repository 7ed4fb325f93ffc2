import os

import torch


def train(model, loader, optimizer, out):
    for epoch, x in enumerate(loader):
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
        torch.save(model.state_dict(), "checkpoints/last.pt")
        torch.save(model.state_dict(), os.path.join(out, "last.pt"))
        torch.save(model.state_dict(), "/kaggle/working/last.pt")
        torch.save(model.state_dict(), f"/content/drive/MyDrive/run/{epoch}.pt")
        torch.save(model.state_dict(), "/tmpfiles/last.pt")
