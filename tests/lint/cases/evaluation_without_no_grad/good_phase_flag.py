import torch


def evaluate(model, loaders, criterion):
    for phase in ("train", "val"):
        model.train(phase == "train")
        for x, y in loaders[phase]:
            with torch.set_grad_enabled(phase == "train"):
                print(criterion(model(x), y).item())
