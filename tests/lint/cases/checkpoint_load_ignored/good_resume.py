import torch


def raises(model, path):
    try:
        model.load_state_dict(torch.load(path))
    except RuntimeError as error:
        raise SystemExit(f"{path} does not fit this model: {error}") from error


def stops(model, path):
    try:
        model.load_state_dict(torch.load(path))
    except Exception as error:
        print(error)
        exit(1)


def no_file_yet(model, path):
    try:
        model.load_state_dict(torch.load(path))
    except FileNotFoundError:
        print("starting from scratch")


def other_format(model, path):
    state = torch.load(path)
    try:
        model.load_state_dict(state)
    except Exception:
        model.load_state_dict({k.replace("module.", ""): v for k, v in state.items()})


def remapped(model, state):
    try:
        model.load_state_dict(state)
    except RuntimeError:
        model.module.load_state_dict(state["model"])


def partial(model, state):
    try:
        model.load_state_dict(state)
    except RuntimeError:
        own = model.state_dict()
        for name, value in state.items():
            if name in own and own[name].shape == value.shape:
                own[name].copy_(value)


def tells_the_caller(model, state):
    try:
        model.load_state_dict(state)
    except Exception:
        return False
    return True


def builds_anew(path):
    try:
        model = torch.load(path)
    except Exception:
        model = None
    return model


def not_a_checkpoint(path):
    try:
        config = json.load(open(path))
    except Exception:
        config = {}
    return config


def tensor_by_tensor(model, state):
    for name, value in state.items():
        try:
            model.load_state_dict(OrderedDict([(name, value)]), strict=False)
        except Exception as error:
            print(error)


def one_at_a_time(model, state):
    for name in state:
        try:
            model.load_state_dict({name: state[name]}, strict=False)
        except Exception as error:
            print(f"{name} is left out: {error}")
