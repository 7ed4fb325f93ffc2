"""Craft targeted adversarial road signs: the optimizer owns the picture, the classifier is frozen in eval mode."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def sign_images(n, g, size=10):
    ax = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(ax, ax, indexing="ij")
    shapes = torch.stack([(xx ** 2 + yy ** 2 < 0.7).float(), ((xx.abs() + yy.abs()) < 0.95).float(),
                          ((yy > -0.6) & (xx.abs() < (0.9 - yy) / 2)).float(), (xx.abs().maximum(yy.abs()) < 0.7).float()])
    y = torch.randint(0, 4, (n,), generator=g)
    gain = 0.6 + 0.4 * torch.rand(n, 1, 1, generator=g)
    img = 0.2 + 0.5 * gain * shapes[y] + 0.12 * torch.randn(n, size, size, generator=g)
    return img.clamp(0, 1).unsqueeze(1), y


def classifier():
    return nn.Sequential(nn.Conv2d(1, 12, 3, bias=False), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Dropout(0.1), nn.Linear(192, 32), nn.ReLU(), nn.Linear(32, 4))


def fit(model, x, y, g, epochs=5):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for e in range(epochs):
        model.train()
        for idx in torch.randperm(len(x), generator=g).split(50):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"classifier epoch {e} loss {loss.item():.4f}")
    return model.eval().requires_grad_(False)


def attack(model, images, target, steps=150, reg=4.0):
    start = images.clone()
    adv = images.clone().requires_grad_(True)
    opt = torch.optim.Adam([adv], lr=0.01)
    for s in range(1, steps + 1):
        opt.zero_grad()
        logits = model(adv)
        dist = (adv - start).pow(2).flatten(1).sum(1).mean()
        loss = F.cross_entropy(logits, target) + reg / 10 * dist
        loss.backward()
        opt.step()
        with torch.no_grad():
            adv.clamp_(0, 1)
        if s % 15 == 0:
            hit = (logits.argmax(1) == target).float().mean().item()
            print(f"attack step {s:3d} loss {loss.item():.4f} squared distance {dist.item():.4f} success {hit:.2f}")
    return adv.detach()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(13)
    g = torch.Generator().manual_seed(13)
    model = fit(classifier(), *sign_images(800, g), g)
    x, y = sign_images(40, g)
    with torch.no_grad():
        print(f"clean accuracy {(model(x).argmax(1) == y).float().mean().item():.3f}")
    adv = attack(model, x, (y + 1) % 4)
    with torch.no_grad():
        print(f"accuracy on crafted images {(model(adv).argmax(1) == y).float().mean().item():.3f}, "
              f"mean |delta| {(adv - x).abs().mean().item():.4f}")


if __name__ == "__main__":
    main()
