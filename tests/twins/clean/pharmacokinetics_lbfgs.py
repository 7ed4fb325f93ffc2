"""Fit absorption/elimination rates of 40 patients with covariates by L-BFGS (full batch)."""
import torch
from torch import nn


def concentration(t, dose, ka, ke, vol):
    """One-compartment model with first-order absorption."""
    return dose / vol * ka / (ka - ke) * (torch.exp(-ke * t) - torch.exp(-ka * t))


class PKModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_ka = nn.Parameter(torch.tensor(0.5))
        self.log_ke = nn.Parameter(torch.tensor(-2.0))
        self.log_vol = nn.Parameter(torch.tensor(2.5))
        self.weight_effect = nn.Parameter(torch.zeros(()))
        self.age_effect = nn.Parameter(torch.zeros(()))

    def forward(self, t, dose, weight, age):
        vol = torch.exp(self.log_vol + self.weight_effect * weight)
        ke = torch.exp(self.log_ke + self.age_effect * age)
        return concentration(t, dose, torch.exp(self.log_ka), ke, vol)


def trial(n=40, seed=11):
    g = torch.Generator().manual_seed(seed)
    weight, age = torch.randn(n, 1, generator=g), torch.randn(n, 1, generator=g)
    t = torch.tensor([[0.5, 1, 2, 3, 5, 8, 12, 18, 24]]).expand(n, -1)
    dose = 100 + 100 * torch.randint(0, 3, (n, 1), generator=g).float()
    true = concentration(t, dose, 1.2, 0.18 * torch.exp(-0.3 * age), 20 * torch.exp(0.25 * weight))
    return t, dose, weight, age, true * torch.exp(0.08 * torch.randn(true.shape, generator=g))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(11)
    *inputs, observed = trial()
    model = PKModel()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, history_size=8)

    def closure():
        optimizer.zero_grad()
        loss = (torch.log(model(*inputs)) - torch.log(observed)).pow(2).mean()
        loss.backward()
        return loss

    for epoch in range(12):
        loss = optimizer.step(closure)
        est = {n: p.item() for n, p in model.named_parameters()}
        print(f"epoch {epoch:2d} log-mse {loss.item():.6f} ka {torch.tensor(est['log_ka']).exp().item():.3f} "
              f"ke {torch.tensor(est['log_ke']).exp().item():.3f} V {torch.tensor(est['log_vol']).exp().item():.2f} "
              f"b_weight {est['weight_effect']:+.3f} b_age {est['age_effect']:+.3f}")
    print("truth:   ka 1.200 ke 0.180 V 20.00 b_weight +0.250 b_age -0.300")


if __name__ == "__main__":
    main()
