"""Advantage actor-critic that controls the outflow of 32 simulated reservoirs at once."""
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Config:
    n_envs: int = 32
    rollout: int = 8
    updates: int = 220
    gamma: float = 0.9
    vf_coef: float = 0.5
    ent_coef: float = 0.01
    lr: float = 4e-3


class Reservoirs:
    """Level should stay near 0.5; inflow is seasonal, the action opens the gate 0, 1 or 2 notches."""

    def __init__(self, n, gen):
        self.n, self.gen = n, gen
        self.level = torch.rand(n, generator=gen)
        self.phase = 6.28 * torch.rand(n, generator=gen)

    def observe(self):
        return torch.stack([2 * self.level - 1, self.phase.sin(), self.phase.cos()], 1)

    def step(self, action):
        inflow = 0.10 + 0.08 * self.phase.sin() + 0.02 * torch.randn(self.n, generator=self.gen)
        self.level = (self.level + inflow - 0.1 * action.float()).clamp(0, 1)
        self.phase = self.phase + 0.3
        return -(self.level - 0.5).abs() * 2


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 48), nn.Tanh())
        self.pi, self.v = nn.Linear(48, 3), nn.Linear(48, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def main(cfg=Config()):
    torch.set_num_threads(1)
    torch.manual_seed(71)
    env = Reservoirs(cfg.n_envs, torch.Generator().manual_seed(71))
    net = ActorCritic()
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    for u in range(1, cfg.updates + 1):
        logps, values, rewards, ents = [], [], [], []
        for _ in range(cfg.rollout):
            dist, v = net(env.observe())
            a = dist.sample()
            rewards.append(env.step(a))
            logps.append(dist.log_prob(a))
            values.append(v)
            ents.append(dist.entropy())
        with torch.no_grad():
            ret = net(env.observe())[1]
        targets = []
        for r in reversed(rewards):
            ret = r + cfg.gamma * ret
            targets.insert(0, ret)
        targets, values = torch.stack(targets), torch.stack(values)
        adv = (targets - values).detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        policy = -(torch.stack(logps) * adv).mean()
        value = (values - targets).pow(2).mean()
        entropy = torch.stack(ents).mean()
        loss = policy + cfg.vf_coef * value - cfg.ent_coef * entropy
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        if u % 22 == 0:
            print(f"update {u:3d} loss {loss.item():+.4f} policy {policy.item():+.4f} value {value.item():.4f} "
                  f"entropy {entropy.item():.3f} reward {torch.stack(rewards).mean().item():+.3f}")


if __name__ == "__main__":
    main()
