import torch


@torch.no_grad()
def optimise(model, x, optimizer, run):
    def closure():
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        return loss

    return run(closure)
