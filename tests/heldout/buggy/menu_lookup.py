"""Answer "what does dish X cost?" from a menu listed in the context (dish, price) pairs."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

DISHES, PRICES, LINES = 20, 8, 6


def sample(n, g):
    dishes = torch.rand(n, DISHES, generator=g).argsort(1)[:, :LINES]
    prices = torch.randint(0, PRICES, (n, LINES), generator=g)
    row = torch.randint(0, LINES, (n,), generator=g)
    ask = dishes.gather(1, row[:, None]).squeeze(1)
    return dishes, prices, ask, prices.gather(1, row[:, None]).squeeze(1)


class MenuReader(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.dish = nn.Embedding(DISHES, d)
        self.price = nn.Embedding(PRICES, d)
        self.to_q = nn.Linear(d, d, bias=False)
        self.to_k = nn.Linear(d, d, bias=False)
        self.out = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, PRICES))
        self.last_map = []

    def attend(self, ask, dishes):
        q = self.to_q(self.dish(ask))
        k = self.to_k(self.dish(dishes))
        scores = torch.einsum("bd,bld->bl", q, k) / math.sqrt(q.size(-1))
        att = scores.softmax(-1)
        self.last_map = att.tolist()
        return torch.tensor(self.last_map)

    def forward(self, dishes, prices, ask):
        att = self.attend(ask, dishes)
        ctx = torch.einsum("bl,bld->bd", att, self.price(prices))
        return self.out(ctx)

    def sharpness(self):
        return sum(max(row) for row in self.last_map) / len(self.last_map)


def main(steps=600, report=60):
    torch.set_num_threads(1)
    torch.manual_seed(44)
    g = torch.Generator().manual_seed(44)
    model = MenuReader()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    *val, answer = sample(500, g)
    run = 0.0
    for step in range(1, steps + 1):
        *ctx, target = sample(64, g)
        model.train()
        loss = F.cross_entropy(model(*ctx), target)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        run += loss.item() / report
        if step % report == 0:
            model.eval()
            with torch.no_grad():
                acc = (model(*val).argmax(1) == answer).float().mean().item()
            print(f"step {step:4d} loss {run:.4f} val acc {acc:.3f} max attention {model.sharpness():.3f}")
            run = 0.0


if __name__ == "__main__":
    main()
