"""Will the visitor buy? Variable-length click sessions from an endless stream with a shuffle buffer."""
import itertools
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, IterableDataset

PAGES = 14


class Sessions(IterableDataset):
    """Sessions come grouped by shop in the log; a buffer mixes them."""

    def __init__(self, seed, buffer=256):
        self.rng, self.buffer = random.Random(seed), buffer

    def raw(self):
        while True:
            shop = self.rng.random()
            for _ in range(20):
                length = self.rng.randint(4, 18)
                pages = [self.rng.randrange(PAGES) for _ in range(length)]
                cart = max((i for i, p in enumerate(pages) if p == 3), default=-1)
                leave = max((i for i, p in enumerate(pages) if p == 7), default=-1)
                score = (cart >= 0) + (cart > leave) + 0.5 * (shop - 0.5) + self.rng.gauss(0, 0.15)
                yield pages, float(score > 1.0)

    def __iter__(self):
        stream = self.raw()
        pool = list(itertools.islice(stream, self.buffer))
        for item in stream:
            k = self.rng.randrange(self.buffer)
            pool[k], item = item, pool[k]
            yield item


def collate(batch):
    lengths = torch.tensor([len(p) for p, _ in batch])
    pages = pad_sequence([torch.tensor(p) for p, _ in batch], batch_first=True)
    return pages, lengths, torch.tensor([y for _, y in batch])


class BuyNet(nn.Module):
    def __init__(self, d=16, h=32):
        super().__init__()
        self.emb = nn.Embedding(PAGES, d)
        self.gru = nn.GRU(d, h, batch_first=True)
        self.out = nn.Linear(h, 1)

    def forward(self, pages, lengths):
        packed = pack_padded_sequence(self.emb(pages), lengths, batch_first=True, enforce_sorted=False)
        return self.out(self.gru(packed)[1][-1]).squeeze(-1)


def main(steps=300, every=30):
    torch.set_num_threads(1)
    torch.manual_seed(202)
    stream = iter(DataLoader(Sessions(1), batch_size=48, collate_fn=collate))
    pages, lengths, target = next(iter(DataLoader(Sessions(2), batch_size=600, collate_fn=collate)))
    net = BuyNet()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    run = 0.0
    for step in range(1, steps + 1):
        net.train()
        p, n, y = next(stream)
        loss = F.binary_cross_entropy_with_logits(net(p, n), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        run += loss.item()
        if step % every == 0:
            net.eval()
            with torch.no_grad():
                logit = net(pages, lengths)
                acc = ((logit > 0).float() == target).float().mean().item()
            print(f"step {step:4d} loss {run / every:.4f} held-out acc {acc:.3f} (buyers {target.mean():.2f})")
            run = 0.0


if __name__ == "__main__":
    main()
