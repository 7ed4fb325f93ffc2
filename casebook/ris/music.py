"""The classical way: MUSIC on the pilots themselves, with the number of paths and the codebook known."""

import torch
from data import codebook, steering


def music(pilots, array, grid=721):
    """Sines of the angles, sorted, (count, paths), from covariances of pilots."""
    paths = array["paths"]
    noise = torch.linalg.eigh(pilots).eigenvectors[..., : array["pilots"] - paths]
    sines = torch.linspace(-array["field"], array["field"], grid)
    heard = codebook(array) @ steering(sines, array["elements"])
    heard = heard / heard.abs().square().sum(dim=0).sqrt()
    spectrum = 1 / (noise.mH @ heard).abs().square().sum(dim=1)
    left = torch.nn.functional.pad(spectrum, (1, 0))[:, :-1]
    right = torch.nn.functional.pad(spectrum, (0, 1))[:, 1:]
    peaks = torch.where((spectrum > left) & (spectrum > right), spectrum, torch.zeros(()))
    return sines[peaks.topk(paths, dim=1).indices].sort(dim=1).values
