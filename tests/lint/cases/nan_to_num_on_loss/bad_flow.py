import torch


def total(self, recon, kl):
    value = recon + 0.1 * kl
    value = value.nan_to_num()  # expect: PM503
    value.backward()


def contrastive_loss(a, b, temperature):
    sim = a @ b.t() / temperature
    per_item = -sim.diag() + sim.logsumexp(dim=1)
    return torch.nan_to_num(per_item.mean())  # expect: PM503
