"""WGAN with gradient penalty on the two-moons density."""
import torch
import torch.nn as nn


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.SiLU()]
    return nn.Sequential(*layers[:-1])


def moons(n):
    a = torch.pi * torch.rand(n)
    up = torch.stack([a.cos() - 0.5, a.sin() - 0.25], 1)
    down = torch.stack([0.5 - a.cos(), 0.25 - a.sin()], 1)
    return torch.where(torch.rand(n, 1) < 0.5, up, down) + 0.05 * torch.randn(n, 2)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    grad, = torch.autograd.grad(score.sum(), mix, create_graph=True)
    return (grad.norm(2, dim=1) - 1).pow(2).mean()


class WGANGP:
    LAMBDA = 0.5

    def __init__(self, nz=4, bs=96):
        self.nz, self.bs = nz, bs
        self.gen, self.critic = mlp(nz, 64, 64, 2), mlp(2, 64, 64, 1)
        self.og = torch.optim.Adam(self.gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
        self.oc = torch.optim.Adam(self.critic.parameters(), lr=2e-3, betas=(0.5, 0.9))

    def sample(self, n):
        return self.gen(torch.randn(n, self.nz))

    def critic_step(self):
        real, fake = moons(self.bs), self.sample(self.bs).detach()
        gp = gradient_penalty(self.critic, real, fake)
        wdist = self.critic(real).mean() - self.critic(fake).mean()
        loss = -wdist + self.LAMBDA * gp
        self.oc.zero_grad(set_to_none=True)
        loss.backward()
        self.oc.step()
        return wdist.item(), gp.item()

    def generator_step(self):
        loss = -self.critic(self.sample(self.bs)).mean()
        self.og.zero_grad(set_to_none=True)
        loss.backward()
        self.og.step()
        return loss.item()


@torch.no_grad()
def sample_distance(model):
    """Mean distance from a generated point to the nearest of 1500 real points, and the reverse."""
    d = torch.cdist(model.sample(600), moons(1500))
    return d.min(1).values.mean().item(), d.min(0).values.mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(29)
    model = WGANGP()
    for it in range(260):
        for _ in range(3):
            w, gp = model.critic_step()
        lg = model.generator_step()
        if it % 26 == 25:
            prec, cover = sample_distance(model)
            print(f"it {it + 1:4d} W {w:+.4f} GP {gp:.4f} gen {lg:+.4f} fake->real {prec:.4f} real->fake {cover:.4f}")


if __name__ == "__main__":
    main()
