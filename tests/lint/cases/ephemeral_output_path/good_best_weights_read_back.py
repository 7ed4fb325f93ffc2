import os
import tempfile

import torch


def train_model(model, loader, optimizer, epochs):
    with tempfile.TemporaryDirectory() as tempdir:
        best = os.path.join(tempdir, "best_model_params.pt")
        torch.save(model.state_dict(), best)
        for epoch in range(epochs):
            for x in loader:
                optimizer.zero_grad()
                model(x).mean().backward()
                optimizer.step()
            torch.save(model.state_dict(), best)
        model.load_state_dict(torch.load(best, weights_only=True))
    return model
