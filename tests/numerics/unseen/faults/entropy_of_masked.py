import torch
from torch import nn

torch.manual_seed(42)
actor = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 5))
opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
states = torch.randn(240, 6)
legal = torch.rand(240, 5) > 0.0
legal[100:, 3] = False
gain = torch.randn(240, 5)


def bonus(logits, allowed):
    p = logits.masked_fill(~allowed, float("-inf")).softmax(1)
    terms = p * p.log()
    return p, -terms.nan_to_num(0.0).sum(1).mean()


for step in range(60):
    at = (step * 4) % 240
    state, allowed = states[at : at + 8], legal[at : at + 8]
    p, entropy = bonus(actor(state), allowed)
    loss = -(p * gain[at : at + 8]).sum(1).mean() - 0.01 * entropy
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(actor.parameters(), 1.0)
    opt.step()
print(loss.item())
