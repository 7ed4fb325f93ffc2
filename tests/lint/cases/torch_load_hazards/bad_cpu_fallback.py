import torch

device = "cuda" if torch.cuda.is_available() else "cpu"


def restore(model, path):
    state = torch.load(path, weights_only=True)  # expect: PM583
    model.load_state_dict(state)
    return model.to(device)
