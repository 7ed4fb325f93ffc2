"""Read the digits of a gas meter strip, one class per image column group."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIGITS, W, H, LEN = 6, 5, 7, 6


class MeterStrips:
    def __init__(self, gen):
        self.gen = gen
        self.glyphs = (torch.rand(DIGITS, H, W, generator=gen) < 0.5).float()

    def batch(self, n):
        y = torch.randint(0, DIGITS, (n, LEN), generator=self.gen)
        img = self.glyphs[y].permute(0, 2, 1, 3).reshape(n, 1, H, LEN * W)
        img = img + 0.9 * torch.randn(img.shape, generator=self.gen)
        return (img - 0.5) / 1.0, y


class StripReader(nn.Module):
    def __init__(self, ch=24):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.ReLU(),
                                  nn.Conv2d(ch, ch, (H, W), stride=(1, W)), nn.ReLU())
        self.rnn = nn.GRU(ch, 24, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(48, DIGITS)

    def forward(self, img):
        f = self.conv(img)
        n, c, _, t = f.shape
        seq = f.permute(0, 3, 1, 2).reshape(n, t, c)
        return self.fc(self.rnn(seq)[0])


def evaluate(net, img, y):
    net.eval()
    with torch.no_grad():
        pred = net(img).argmax(-1)
    net.train()
    return (pred == y).float().mean().item(), (pred == y).all(1).float().mean().item()


def main(steps=240, every=24):
    torch.set_num_threads(1)
    torch.manual_seed(93)
    strips = MeterStrips(torch.Generator().manual_seed(93))
    val = strips.batch(300)
    net = StripReader()
    opt = torch.optim.Adam(net.parameters(), lr=1.5e-3)
    acc_loss = 0.0
    for step in range(1, steps + 1):
        img, y = strips.batch(32)
        loss = F.cross_entropy(net(img).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        acc_loss += loss.item()
        if step % every == 0:
            digit, strip = evaluate(net, *val)
            print(f"step {step} loss {acc_loss / every:.4f} digit acc {digit:.3f} whole strip {strip:.3f}")
            acc_loss = 0.0


if __name__ == "__main__":
    main()
