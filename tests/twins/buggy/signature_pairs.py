"""Siamese verification of signatures: same writer or not."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class PairSet(Dataset):
    def __init__(self, n_pairs, styles, gen, drift=0.7):
        n_writers = len(styles)
        a = torch.randint(0, n_writers, (n_pairs,), generator=gen)
        same = torch.rand(n_pairs, generator=gen) < 0.5
        other = (a + torch.randint(1, n_writers, (n_pairs,), generator=gen)) % n_writers
        b = torch.where(same, a, other)
        self.left = styles[a] + drift * torch.randn(n_pairs, styles.shape[1], generator=gen)
        self.right = styles[b] + drift * torch.randn(n_pairs, styles.shape[1], generator=gen)
        rescans = (torch.rand(n_pairs, generator=gen) < 0.002) & same
        self.right[rescans] = self.left[rescans]
        self.same = same.float()

    def __len__(self):
        return len(self.same)

    def __getitem__(self, i):
        return self.left[i], self.right[i], self.same[i]


class Encoder(nn.Module):
    def __init__(self, d_in, d_out=12):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 48), nn.ReLU(), nn.Linear(48, d_out))

    def forward(self, x):
        return self.net(x)


def distance(u, v):
    return (u - v).pow(2).sum(1).sqrt()


def contrastive(d, same, margin=2.0):
    return (same * d.pow(2) + (1 - same) * torch.relu(margin - d).pow(2)).mean()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(90)
    gen = torch.Generator().manual_seed(90)
    styles = torch.randn(12, 20, generator=gen)
    train = DataLoader(PairSet(2400, styles, gen), batch_size=48, shuffle=True)
    held = PairSet(500, styles, gen)
    enc = Encoder(20)
    opt = torch.optim.Adam(enc.parameters(), lr=1e-3)
    for epoch in range(8):
        enc.train()
        total = 0.0
        for left, right, same in train:
            loss = contrastive(distance(enc(left), enc(right)), same)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        enc.eval()
        with torch.no_grad():
            d = distance(enc(held.left), enc(held.right))
            acc = ((d < 1.0) == held.same.bool()).float().mean().item()
        print(f"epoch {epoch}: contrastive {total / len(train):.4f} verification acc {acc:.3f}")


if __name__ == "__main__":
    main()
