import torch


def train(gen, disc, loader, opt_g, opt_d):
    for x in loader:
        opt_d.zero_grad()
        disc(x).mean().backward()
        torch.nn.utils.clip_grad_norm_(disc.parameters(), 1.0)
        opt_d.step()
        opt_g.zero_grad()
        disc(gen(x)).mean().backward()
        torch.nn.utils.clip_grad_norm_(gen.parameters(), 1.0)
        opt_g.step()
