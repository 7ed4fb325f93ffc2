import os

import torch


def resume(model, optimizer, path):
    try:
        state = torch.load(path, map_location="cpu")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    except Exception as error:  # expect: PM508
        print(f"could not load {path}: {error}")


class Model:
    def load(self, path):
        try:
            self.net.load_state_dict(torch.load(path))
        except:  # expect: PM508
            pass


def load_backbone(backbone, path):
    if os.path.exists(path):
        try:
            backbone.load_state_dict(torch.load(path, weights_only=True), strict=True)
            print("loaded")
        except Exception:  # expect: PM508
            print("no pretrained weights, training from scratch")
    return backbone


def load_optimizer(opt, state):
    try:
        opt.load_state_dict(state)
    except (RuntimeError, Exception):  # expect: PM508
        logger.warning("optimizer state ignored")


def several(models, paths):
    for model, path in zip(models, paths):
        try:
            model.load_state_dict({"weight": torch.load(path)}, strict=False)
        except Exception as error:  # expect: PM508
            print(error)
        try:
            model.load_state_dict(torch.load(path))
        except Exception as error:  # expect: PM508
            print(error)
