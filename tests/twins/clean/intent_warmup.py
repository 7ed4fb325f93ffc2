"""Utterance intent classifier: small transformer, linear warm-up from zero, then linear decay."""
import argparse

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR

PAD = 0


def utterances(n, g, vocab=60, length=12, intents=5):
    y = torch.randint(0, intents, (n,), generator=g)
    x = torch.randint(intents * 4 + 1, vocab, (n, length), generator=g)
    for k in range(2):  # two cue words of the intent at random places
        pos = torch.randint(0, 6, (n,), generator=g)
        x[torch.arange(n), pos] = 1 + y * 4 + torch.randint(0, 4, (n,), generator=g)
    lengths = torch.randint(6, length + 1, (n, 1), generator=g)
    x[torch.arange(length)[None] >= lengths] = PAD
    return x, y


class IntentNet(nn.Module):
    def __init__(self, vocab=60, d=32, intents=5):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=PAD)
        self.pos = nn.Parameter(torch.zeros(12, d))
        layer = nn.TransformerEncoderLayer(d, 2, 48, dropout=0.1, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(d, intents)

    def forward(self, x):
        mask = x == PAD
        h = self.enc(self.emb(x) + self.pos, src_key_padding_mask=mask)
        keep = (~mask).unsqueeze(-1).float()
        return self.out((h * keep).sum(1) / keep.sum(1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch-size", type=int, default=50)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--warmup", type=int, default=40)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(7)
    g = torch.Generator().manual_seed(7)
    x, y = utterances(1250, g)
    xv, yv = utterances(400, g)
    net = IntentNet()
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr)
    total_steps = args.epochs * (len(x) // args.batch_size)

    def factor(step):
        if step < args.warmup:
            return step / args.warmup
        return max(0.0, (total_steps - step) / (total_steps - args.warmup))

    sched = LambdaLR(opt, factor)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        net.train()
        run = 0.0
        for idx in torch.randperm(len(x), generator=g).split(args.batch_size):
            opt.zero_grad()
            loss = loss_fn(net(x[idx]), y[idx])
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            opt.step()
            sched.step()
            run += loss.item() * len(idx)
        net.eval()
        with torch.no_grad():
            acc = (net(xv).argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch} train {run / len(x):.4f} val acc {acc:.3f} lr {sched.get_last_lr()[0]:.2e}")


if __name__ == "__main__":
    main()
