"""The forward algorithm in log space: impossible transitions are -inf, and stay finite in the sum."""

import torch
from torch import nn

torch.manual_seed(17)
STATES = 5
allowed = torch.ones(STATES, STATES).tril(1).bool()
emit = nn.Linear(4, STATES)
move = nn.Parameter(torch.zeros(STATES, STATES))
opt = torch.optim.Adam([*emit.parameters(), move], lr=1e-2)
walks = torch.randn(160, 12, 4)
for start in range(0, 160, 8):
    scores = torch.log_softmax(emit(walks[start : start + 8]), -1)
    table = torch.log_softmax(move.masked_fill(~allowed, float("-inf")), -1)
    alpha = scores[:, 0]
    for t in range(1, 12):
        alpha = torch.logsumexp(alpha.unsqueeze(2) + table, 1) + scores[:, t]
    loss = -torch.logsumexp(alpha, 1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
