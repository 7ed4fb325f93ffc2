import torch


def total(self, recon, kl):
    value = recon + 0.1 * kl
    value = value.nan_to_num()  # expect: PM503
    value.backward()


def contrastive_loss(a, b, temperature):
    sim = a @ b.t() / temperature
    per_item = -sim.diag() + sim.logsumexp(dim=1)
    return torch.nan_to_num(per_item.mean())  # expect: PM503


class SmoothnessLoss(torch.nn.Module):
    def forward(self, sequence):
        loss = torch.mean((sequence[1:] - sequence[:-1]).pow(2))
        loss = torch.nan_to_num(loss, nan=0.0, posinf=1e6) + 1e-8  # expect: PM503
        return loss
