import torch


def load(model, path):
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state, strict=False)  # expect: PM509


class Detector:
    def init_weights(self, pretrained):
        self.backbone.load_state_dict(torch.load(pretrained), strict=False)  # expect: PM509


def finetune(model, state):
    state = {k: v for k, v in state.items()}
    model.module.load_state_dict(state["state_dict"], False)  # expect: PM509


def silent(net, weights):
    net.load_state_dict(weights, strict=False)  # expect: PM509
    return net
