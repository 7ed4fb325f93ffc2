import torch


def spoken(model, path):
    state = torch.load(path, map_location="cpu")
    try:
        model.load_state_dict(state)
    except Exception as error:
        print("not all weights fit:", error)
        model.load_state_dict(state, strict=False)
    return model


def looked_at(model, path):
    state = torch.load(path, map_location="cpu")
    try:
        model.load_state_dict(state)
    except Exception:
        answer = model.load_state_dict(state, strict=False)
        assert not answer.unexpected_keys
    return model


def renamed(model, path):
    state = torch.load(path, map_location="cpu")
    try:
        model.load_state_dict(state)
    except Exception:
        model.load_state_dict({name[7:]: value for name, value in state.items()}, strict=False)
    return model
