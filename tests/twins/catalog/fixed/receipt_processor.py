"""Total amount from receipt scans. A document may have several pages, so the reader takes (docs, pages, 1, H, W)."""
import torch
import torch.nn as nn


class Processor:
    """Accepts one image per document, or a list of pages per document."""

    mean, std = 0.3, 0.25

    def __call__(self, images):
        if not isinstance(images[0], (list, tuple)):
            images = [[im] for im in images]
        pages = max(len(doc) for doc in images)
        out = torch.zeros(len(images), pages, *images[0][0].shape)
        for i, doc in enumerate(images):
            for j, im in enumerate(doc):
                out[i, j] = (im - self.mean) / self.std
        return out


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.vision = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                    nn.Linear(8 * 25, 32), nn.ReLU())
        self.total = nn.Linear(32, 1)

    def forward(self, pixels):
        docs, pages = pixels.shape[:2]
        feats = self.vision(pixels.flatten(0, 1)).view(docs, pages, -1).mean(1)
        return self.total(feats).squeeze(1)


def scans(n, g):
    """Ten rows, each a price bar; the total is the sum of the bar lengths."""
    bars = torch.randint(0, 9, (n, 10), generator=g)
    img = (torch.arange(10)[None, None] < bars[:, :, None]).float() * 0.8
    img = img + 0.1 * torch.randn(n, 10, 10, generator=g)
    total = (bars.sum(1).float() - 40) / 8
    return [im.unsqueeze(0) for im in img], total


def squared_error(pred, target):
    return ((pred - target) ** 2).mean()


@torch.no_grad()
def evaluate(reader, processor, images, total):
    pred = torch.cat([reader(processor([[im]])) for im in images])
    return 1 - squared_error(pred, total).item() / total.var(unbiased=False).item()


def main(epochs=10, bs=50):
    torch.set_num_threads(1)
    torch.manual_seed(342)
    g = torch.Generator().manual_seed(342)
    images, total = scans(1000, g)
    vi, vt = scans(80, g)
    processor, reader = Processor(), Reader()
    opt = torch.optim.Adam(reader.parameters(), lr=2e-3)
    for epoch in range(epochs):
        run = 0.0
        for idx in torch.randperm(len(images), generator=g).split(bs):
            pixels = processor([images[i] for i in idx.tolist()])
            loss = squared_error(reader(pixels), total[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            run += loss.item() * len(idx)
        print(f"epoch {epoch} train mse {run / len(images):.4f} val R2 {evaluate(reader, processor, vi, vt):.3f}")


if __name__ == "__main__":
    main()
