import torch


@torch.no_grad()
def guided_sample(model, x, steps, classifier):
    for t in range(steps):
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            loss = classifier(x, t).sum()
            loss.backward()
        x = model(x, t) + x.grad
    return x
