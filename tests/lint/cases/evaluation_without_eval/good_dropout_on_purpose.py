import torch


@torch.no_grad()
def predict_mc_dropout(model, loader, samples):
    model.train()
    outputs = []
    for x in loader:
        outputs.append(torch.stack([model(x) for _ in range(samples)]))
    return outputs
