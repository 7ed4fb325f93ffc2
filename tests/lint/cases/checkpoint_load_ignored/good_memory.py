def evaluate_averaged(model, ema, sample):
    """The averaged weights are put in for a moment: no checkpoint is read."""
    before = {name: value.clone() for name, value in model.state_dict().items()}
    try:
        model.load_state_dict(ema.state_dict())
        sample(model)
    except Exception as error:
        print(f"sampling failed: {error}")
    finally:
        model.load_state_dict(before)


def swap(model, ema, sample):
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    try:
        sample(model)
        model.load_state_dict(kept)
    except Exception as error:
        print(error)


def newest(model, path):
    try:
        model.load_state_dict(read(path))
        return path.stem
    except Exception as error:
        print(error)
    return None
