import torch


def checked(model, state):
    result = model.load_state_dict(state, strict=False)
    if result.missing_keys:
        raise RuntimeError(result.missing_keys)


def unpacked(model, state):
    missing, unexpected = model.load_state_dict(state, strict=False)
    print(missing, unexpected)


def printed(model, state):
    print(model.load_state_dict(state, strict=False))


def strict(model, state):
    model.load_state_dict(state)


def strict_flag(model, state, strict):
    model.load_state_dict(state, strict=strict)


def asserted(model, state):
    assert not model.load_state_dict(state, strict=False).unexpected_keys


def optimizer(optimizer, state):
    optimizer.load_state_dict(state)


class Wrapper(torch.nn.Module):
    def load_state_dict(self, state, strict=True):
        return super().load_state_dict(state, strict=False)
