"""A policy for a boat between two locks, by REINFORCE with a baseline: once it has learned its way, each episode is the same."""
import torch
import torch.nn as nn
from torch.distributions import Categorical


def main(episodes=110, places=7):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    where = torch.eye(places)
    policy = nn.Sequential(nn.Linear(places, 32), nn.Tanh(), nn.Linear(32, 2))
    value = nn.Sequential(nn.Linear(places, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=1e-2)
    for episode in range(episodes):
        at, visited, said, rewards = places // 2, [], [], []
        while 0 < at < places - 1 and len(rewards) < 30:
            choice = Categorical(logits=policy(where[at]))
            action = choice.sample()
            visited.append(at)
            said.append(choice.log_prob(action))
            at += 1 if action.item() else -1
            rewards.append(1.0 if at == places - 1 else -0.02)
        worth, returns = 0.0, []
        for reward in reversed(rewards):
            worth = reward + 0.98 * worth
            returns.insert(0, worth)
        returns = torch.tensor(returns)
        expected = value(where[visited]).squeeze(1)
        loss = -(torch.stack(said) * (returns - expected.detach())).sum() + 0.5 * (expected - returns).pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if episode % 20 == 19:
            print(f"episode {episode + 1} return {sum(rewards):.2f} length {len(rewards)}")


if __name__ == "__main__":
    main()
