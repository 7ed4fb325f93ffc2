import torch


def train(gen, disc, loader, opt_g, opt_d):
    scaler = torch.amp.GradScaler("cuda")
    for real in loader:
        d_loss = disc(real).mean()
        opt_d.zero_grad()
        scaler.scale(d_loss).backward()
        scaler.step(opt_d)
        g_loss = disc(gen(real)).mean()
        opt_g.zero_grad()
        scaler.scale(g_loss).backward()
        scaler.step(opt_g)
        scaler.update()
