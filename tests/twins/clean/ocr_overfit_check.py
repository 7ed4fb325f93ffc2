"""Sanity check before the long OCR run: the recogniser must be able to memorise ONE batch."""
import sys

import torch
import torch.nn as nn


class Recogniser(nn.Module):
    def __init__(self, n_chars=26):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                 nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d((2, 1)))
        self.rnn = nn.GRU(32 * 3, 48, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, n_chars)

    def forward(self, img):
        f = self.cnn(img)                                   # B, 32, 3, 12
        f = f.flatten(1, 2).transpose(1, 2)                 # B, 12, 96
        h, _ = self.rnn(f)
        return self.out(h[:, 1::3])                         # four characters per word


def render(words, font):
    cells = font[words]                                     # B, 4, 12, 6
    return cells.permute(0, 2, 1, 3).reshape(len(words), 1, 12, 24)


def main(steps=60, limit=0.05):
    torch.set_num_threads(1)
    torch.manual_seed(26)
    font = (torch.rand(26, 12, 6) > 0.6).float()
    words = torch.randint(0, 26, (16, 4))
    images = render(words, font) + 0.1 * torch.randn(16, 1, 12, 24)
    model = Recogniser()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(1, steps + 1):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(images).flatten(0, 1), words.flatten())
        loss.backward()
        opt.step()
        if step % 6 == 0:
            print(f"step {step:2d} loss {loss.item():.4f}")
    with torch.no_grad():
        acc = (model(images).argmax(-1) == words).float().mean().item()
    if loss.item() > limit:
        print(f"FAILED: loss {loss.item():.4f} after {steps} steps on one batch")
        return 1
    print(f"OK: one batch memorised, character accuracy {acc:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
