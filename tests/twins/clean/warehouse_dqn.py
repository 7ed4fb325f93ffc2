"""Double DQN for a 6x6 warehouse floor: drive to the loading dock, avoid the pillars."""
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE, DOCK, PILLARS = 6, (5, 5), {(1, 1), (1, 4), (3, 2), (4, 4)}
MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]


class Floor:
    def reset(self, rng):
        free = [(r, c) for r in range(SIZE) for c in range(SIZE) if (r, c) not in PILLARS | {DOCK}]
        self.pos, self.t = rng.choice(free), 0
        return self.obs()

    def obs(self):
        v = torch.zeros(SIZE * SIZE)
        v[self.pos[0] * SIZE + self.pos[1]] = 1.0
        return v

    def step(self, a):
        r, c = self.pos[0] + MOVES[a][0], self.pos[1] + MOVES[a][1]
        self.t += 1
        reward = -0.05
        if not (0 <= r < SIZE and 0 <= c < SIZE) or (r, c) in PILLARS:
            reward = -0.2
        else:
            self.pos = (r, c)
        done = self.pos == DOCK
        return self.obs(), 1.0 if done else reward, done, self.t >= 40


def q_net():
    return nn.Sequential(nn.Linear(SIZE * SIZE, 64), nn.ReLU(), nn.Linear(64, 4))


def learn(q, target, opt, memory, rng, bs=32, gamma=0.95, tau=0.02):
    s, a, r, s2, done = zip(*rng.sample(memory, bs))
    s, s2 = torch.stack(s), torch.stack(s2)
    a, r, done = torch.tensor(a), torch.tensor(r), torch.tensor(done, dtype=torch.float32)
    with torch.no_grad():
        best = q(s2).argmax(1, keepdim=True)
        backup = r + gamma * (1 - done) * target(s2).gather(1, best).squeeze(1)
    loss = F.smooth_l1_loss(q(s).gather(1, a[:, None]).squeeze(1), backup)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for tp, p in zip(target.parameters(), q.parameters()):
            tp.lerp_(p, tau)
    return loss.item()


@torch.no_grad()
def greedy_success(q, rng, n=20):
    env, wins = Floor(), 0
    for _ in range(n):
        s, over = env.reset(rng), False
        while not over:
            s, _, done, cut = env.step(int(q(s).argmax()))
            over = done or cut
        wins += env.pos == DOCK
    return wins / n


def main():
    torch.set_num_threads(1)
    torch.manual_seed(5)
    rng, test_rng = random.Random(5), random.Random(99)
    env, memory = Floor(), deque(maxlen=3000)
    q, target = q_net(), q_net()
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=3e-3)
    s, returns, cur, losses = env.reset(rng), [], 0.0, []
    for t in range(1, 2401):
        eps = max(0.08, 1 - t / 1200)
        a = rng.randrange(4) if rng.random() < eps else int(q(s).argmax())
        s2, r, done, cut = env.step(a)
        memory.append((s, a, r, s2, done))
        cur, s = cur + r, s2
        if done or cut:
            returns.append(cur)
            s, cur = env.reset(rng), 0.0
        if len(memory) >= 200 and t % 2 == 0:
            losses.append(learn(q, target, opt, memory, rng))
        if t % 240 == 0:
            print(f"t={t:4d} eps={eps:.2f} td loss={sum(losses[-100:]) / 100:.2e} "
                  f"mean return={sum(returns[-20:]) / len(returns[-20:]):+.2f} greedy success={greedy_success(q, test_rng):.2f}")


if __name__ == "__main__":
    main()
