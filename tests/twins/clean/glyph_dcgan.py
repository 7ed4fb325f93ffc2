# Small DCGAN that draws 8x8 stroke glyphs (one horizontal or vertical bar of variable place and thickness).
import torch
import torch.nn as nn

NZ, BS, ITERS = 12, 32, 250


def weights_init(m):
    name = m.__class__.__name__
    if "Conv" in name:
        nn.init.normal_(m.weight, 0.0, 0.05)
    elif "BatchNorm" in name:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


def glyphs(n):
    img = -torch.ones(n, 1, 8, 8)
    pos = torch.randint(1, 6, (n,))
    thick = torch.randint(1, 3, (n,))
    vert = torch.rand(n) < 0.5
    rows = torch.arange(8)[None]
    band = ((rows >= pos[:, None]) & (rows < (pos + thick)[:, None])).float() * 2 - 1
    horiz = band[:, None, :, None].expand(n, 1, 8, 8)
    img = torch.where(vert[:, None, None, None], horiz.transpose(2, 3), horiz)
    return (img + 0.05 * torch.randn(n, 1, 8, 8)).clamp(-1, 1)


G = nn.Sequential(
    nn.ConvTranspose2d(NZ, 32, 2, 1, 0, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
    nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
    nn.ConvTranspose2d(16, 1, 4, 2, 1, bias=False), nn.Tanh())
D = nn.Sequential(
    nn.Conv2d(1, 16, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True),
    nn.Conv2d(16, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.LeakyReLU(0.2, True),
    nn.Conv2d(32, 1, 2, 1, 0, bias=False), nn.Flatten(0))


def line_consistency(img):
    """How bar-like an image is: every row constant or every column constant (0 = perfect)."""
    return torch.minimum(img.var(2).mean((1, 2)), img.var(3).mean((1, 2))).mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(2024)
    G.apply(weights_init)
    D.apply(weights_init)
    opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
    opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    fixed_noise = torch.randn(64, NZ, 1, 1)
    print(f"real data: bar residual {line_consistency(glyphs(500)):.4f}")
    for it in range(1, ITERS + 1):
        D.zero_grad()
        err_real = criterion(D(glyphs(BS)), torch.full((BS,), 0.9))
        err_real.backward()
        fake = G(torch.randn(BS, NZ, 1, 1))
        err_fake = criterion(D(fake.detach()), torch.zeros(BS))
        err_fake.backward()
        opt_d.step()

        G.zero_grad()
        err_g = criterion(D(fake), torch.ones(BS))
        err_g.backward()
        opt_g.step()
        if it % 25 == 0:
            with torch.no_grad():  # samples are drawn with batch statistics, as in the DCGAN paper
                sample = G(fixed_noise)
            print(f"[{it:3d}/{ITERS}] loss_D {(err_real + err_fake).item():.3f} loss_G {err_g.item():.3f} "
                  f"bar residual {line_consistency(sample):.4f} ink {(sample > 0).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
