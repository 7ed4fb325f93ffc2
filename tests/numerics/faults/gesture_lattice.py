"""Forward algorithm of a tiny left-to-right HMM with learned scores."""

import torch
from torch import nn

torch.manual_seed(14)
STATES, T = 4, 6
NEG = float("-inf")
allowed = torch.full((STATES, STATES), NEG)
for s in range(STATES):
    allowed[s, s] = 0.0
    if s + 1 < STATES:
        allowed[s, s + 1] = 0.0

emit = nn.Linear(5, STATES)
trans = nn.Parameter(torch.zeros(STATES, STATES))
opt = torch.optim.Adam([*emit.parameters(), trans], lr=1e-2)


def path_score(x, last_ok):
    e = emit(x)
    alpha = e[:, 0]
    for t in range(1, x.shape[1]):
        step = alpha.unsqueeze(2) + (trans + allowed).unsqueeze(0)
        alpha = torch.logsumexp(step, dim=1) + e[:, t]
    final = alpha + last_ok
    total = torch.logsumexp(final, dim=1)
    return torch.where(torch.isinf(total), torch.zeros_like(total), total)


for it in range(40):
    x = torch.randn(8, T, 5)
    last_ok = torch.zeros(8, STATES)
    last_ok[:, : it % 3] = NEG
    if it == 19:
        last_ok[5, :] = NEG  # this recording has no valid end state
    free = torch.logsumexp(emit(x), dim=2).sum(1)
    loss = (free - path_score(x, last_ok)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 8 == 0:
        print(it, loss.item())
