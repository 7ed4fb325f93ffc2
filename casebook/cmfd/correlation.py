"""Where else in the image does this patch occur? Every patch is compared with all that are not its neighbours."""

import torch
from torch import nn
from torch.nn import functional as F


def neighbours(rows, columns, radius, device):
    """(n, n) mask: pairs of patches that are so near that they are alike anyway, each patch and itself among them."""
    y, x = torch.meshgrid(
        torch.arange(rows, device=device), torch.arange(columns, device=device), indexing="ij"
    )
    y, x = y.flatten(), x.flatten()
    far = torch.maximum((y[:, None] - y[None]).abs(), (x[:, None] - x[None]).abs())
    return far <= radius


class SelfCorrelation(nn.Module):
    """Similarities of the best matches, how far away the match is, and how sure that is.

    Windows of patches are compared, not single ones: a copy has copied its neighbours too.
    """

    def __init__(self, width, project, window, top_k, radius, temperature):
        super().__init__()
        self.project = nn.Conv2d(width, project, 1)
        self.window, self.top_k, self.radius = window, top_k, radius
        self.log_scale = nn.Parameter(torch.tensor(1.0 / temperature).log())
        self.channels = top_k + 3

    def forward(self, feats):
        batch, _, rows, columns = feats.shape
        feats = F.normalize(self.project(feats), dim=1)
        feats = F.normalize(F.unfold(feats, self.window, padding=self.window // 2), dim=1)
        corr = torch.bmm(feats.transpose(1, 2), feats) * self.log_scale.exp()
        mask = neighbours(rows, columns, self.radius, feats.device)
        corr = corr.masked_fill(mask, torch.finfo(corr.dtype).min)
        best = corr.topk(self.top_k, dim=2).values / self.log_scale.exp()
        where = corr.softmax(dim=2)
        y, x = torch.meshgrid(
            torch.linspace(-1, 1, rows, device=feats.device),
            torch.linspace(-1, 1, columns, device=feats.device),
            indexing="ij",
        )
        places = torch.stack([y.flatten(), x.flatten()], dim=1).to(where.dtype)
        offset = where @ places - places
        sure = where.square().sum(dim=2, keepdim=True)
        found = torch.cat([best, offset, sure], dim=2)
        return found.transpose(1, 2).reshape(batch, self.channels, rows, columns)
