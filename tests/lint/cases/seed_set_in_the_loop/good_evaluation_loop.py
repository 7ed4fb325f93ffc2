import torch


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    for x in loader:
        torch.manual_seed(0)
        print(model(x + torch.randn_like(x)))
