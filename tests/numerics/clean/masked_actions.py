# policy gradient with illegal actions at -inf; their log-probabilities are never used
import torch
from torch import nn

torch.manual_seed(5)
policy = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 5))
opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
baseline = 0.0
for step in range(120):
    state = torch.randn(40, 6)
    legal = torch.rand(40, 5) > 0.3
    legal[:, 0] = True
    logits = policy(state).masked_fill(~legal, float("-inf"))
    logp = torch.log_softmax(logits, -1)
    action = torch.multinomial(logp.exp(), 1)
    reward = (state.gather(1, action) > 0).float().squeeze(1)
    chosen = logp.gather(1, action).squeeze(1)
    loss = -((reward - baseline) * chosen).mean()
    baseline = 0.9 * baseline + 0.1 * reward.mean().item()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, f"reward {reward.mean():.2f} best logp {logp.max():.2f}")
