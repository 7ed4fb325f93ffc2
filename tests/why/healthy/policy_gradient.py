"""REINFORCE on a bandit with context: the loss is negative and says little, the reward rises."""

import torch
from torch import nn

torch.manual_seed(2)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
baseline = 0.0
for episode in range(150):
    state = torch.randn(64, 4)
    best = state[:, :3].argmax(1)
    choice = torch.distributions.Categorical(logits=policy(state))
    action = choice.sample()
    reward = (action == best).float()
    loss = -(choice.log_prob(action) * (reward - baseline)).mean()
    baseline = 0.9 * baseline + 0.1 * reward.mean().item()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if episode % 10 == 9:
        print(f"episode {episode} reward {reward.mean():.3f}")
