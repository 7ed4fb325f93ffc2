import torch


def move(batch, device):
    for key in batch.keys():
        if isinstance(batch[key], torch.Tensor):
            batch[key].to(device)  # expect: PM501
        elif isinstance(batch[key], torch.nn.Module):
            batch[key].to(device)
    return batch


def move_all(things, device):
    for key in things:
        if isinstance(things[key], (torch.Tensor, torch.nn.Module)):
            things[key].to(device)
        if isinstance(key, torch.Tensor):
            things[key].to(device)
    return things
