import torch


def compare(model, files, loader, evaluate):
    scores = {}
    for file in files:
        try:
            model.load_state_dict(torch.load(file, weights_only=True))
            scores[file] = evaluate(model, loader)
        except Exception:
            print("left out", file)
            continue
    return scores


def built(files, build, evaluate):
    for file in files:
        try:
            net = build(file)
            net.load_state_dict(torch.load(file, weights_only=True))
            print(evaluate(net))
        except Exception as error:
            print(error)


def another_way(model, path, others):
    try:
        model.load_state_dict(torch.load(path, weights_only=True))
        return model
    except Exception as error:
        print(error)
    return load_any(model, others)
