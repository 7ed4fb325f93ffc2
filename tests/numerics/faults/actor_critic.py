"""Two optimizers in one loop; the actor's entropy is written out."""

import torch
from torch import nn

torch.manual_seed(53)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 3))
        self.critic = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1))


agent = Agent()
opt_actor = torch.optim.Adam(agent.actor.parameters(), lr=4e-2)
opt_critic = torch.optim.Adam(agent.critic.parameters(), lr=1e-2)


def policy(obs):
    return torch.softmax(agent.actor(obs) * 6.0, dim=-1)


def play():
    obs = torch.randn(32, 4)
    return obs, obs[:, 0] * 2 + 0.1 * torch.randn(32)


for turn in range(60):
    obs, reward = play()
    value = agent.critic(obs).squeeze(-1)
    critic_loss = (value - reward).square().mean()
    opt_critic.zero_grad()
    critic_loss.backward()
    opt_critic.step()

    probs = policy(obs)
    gain = (probs[:, 0] * (reward - value.detach())).mean()
    entropy = -(probs * probs.log()).sum(-1).mean()
    opt_actor.zero_grad()
    (-gain - 0.001 * entropy).backward()
    opt_actor.step()
    if turn % 20 == 0:
        print(turn, critic_loss.item(), entropy.item())
