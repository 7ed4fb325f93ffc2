import os

import torch


def scores(model, folder, metric):
    found = []
    for name in sorted(os.listdir(folder)):
        try:
            model.load_state_dict(torch.load(os.path.join(folder, name)))
        except:  # noqa: E722
            print("damaged:", name)
            continue
        found.append((name, metric(model)))
    return found


def scores_of_states(model, folder, metric):
    found = []
    for name in sorted(os.listdir(folder)):
        state = torch.load(os.path.join(folder, name))
        try:
            model.load_state_dict(state)
        except:  # noqa: E722
            print("damaged:", name)
            continue
        found.append((name, metric(model)))
    return found
