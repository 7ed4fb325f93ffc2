import torch
from torch import nn

torch.manual_seed(11)
actor = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 4))
opt = torch.optim.Adam(actor.parameters(), lr=5e-3)


def log_prob(a, mu, sigma):
    z = (a - mu) / sigma
    return (-0.5 * z * z - torch.log(sigma + 1e-8)).sum(-1)


for update in range(40):
    obs = torch.randn(32, 4)
    mu, raw = actor(obs).chunk(2, -1)
    if update > 25:
        raw = raw - 200.0
    sigma = nn.functional.softplus(raw) + 1e-2
    act = mu.detach() + sigma.detach() * torch.randn_like(mu)
    adv = -act.pow(2).sum(-1)
    loss = -(log_prob(act, mu, sigma) * adv).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
    opt.step()
print(loss.item())
