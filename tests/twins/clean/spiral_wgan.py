import torch
import torch.nn as nn
from itertools import count


class CriticNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(2, width), nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, p):
        h = torch.nn.functional.leaky_relu(self.l1(p), 0.2)
        h = torch.nn.functional.leaky_relu(self.l2(h), 0.2)
        return self.l3(h).squeeze(-1)


def spiral(gen, n=128):
    while True:
        t = torch.rand(n, generator=gen).sqrt() * 7.0
        xy = torch.stack([t.cos(), t.sin()], 1) * (t / 7.0)[:, None]
        yield xy + 0.02 * torch.randn(n, 2, generator=gen)


@torch.no_grad()
def sliced_distance(a, b, gen, k=40):
    proj = torch.randn(2, k, generator=gen)
    proj /= proj.norm(dim=0, keepdim=True)
    return ((a @ proj).sort(0)[0] - (b @ proj).sort(0)[0]).abs().mean().item()


def main(gen_steps=240, n_critic=5, clip=0.08):
    torch.set_num_threads(1)
    torch.manual_seed(17)
    rng = torch.Generator().manual_seed(17)
    stream = spiral(rng)
    generator = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    critic = CriticNet()
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=5e-4)
    noise = lambda n=128: torch.randn(n, 3, generator=rng)
    for step in count(1):
        critic.requires_grad_(True)
        for _ in range(n_critic):
            opt_c.zero_grad()
            with torch.no_grad():
                fake = generator(noise())
            loss_c = critic(fake).mean() - critic(next(stream)).mean()
            loss_c.backward()
            opt_c.step()
            with torch.no_grad():
                for p in critic.parameters():
                    p.clamp_(-clip, clip)
        critic.requires_grad_(False)
        opt_g.zero_grad()
        loss_g = -critic(generator(noise())).mean()
        loss_g.backward()
        opt_g.step()
        if step % 24 == 0:
            with torch.no_grad():
                pts = generator(noise(512))
            real = torch.cat([next(stream) for _ in range(4)])
            print(f"gen step {step:3d}  critic {loss_c.item():+.5f}  gen {loss_g.item():+.5f}  "
                  f"sliced distance {sliced_distance(pts, real, rng):.4f}")
        if step == gen_steps:
            break


if __name__ == "__main__":
    main()
