import torch
import torch_npu


def profiled(model, batch):
    with torch.autograd.profiler.profile(use_npu=True):
        return model(batch)
