import torch


def load_checkpoint(model, path):
    state = torch.load(path, map_location="cpu")["state_dict"]
    try:
        model.load_state_dict(state, strict=True)
    except:  # noqa: E722
        model.load_state_dict(state, strict=False)  # expect: PM508
    return model
