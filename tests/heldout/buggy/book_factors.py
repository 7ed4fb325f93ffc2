"""Explicit-rating matrix factorisation with biases, plain SGD."""
import torch
import torch.nn as nn


class Factors(nn.Module):
    def __init__(self, users, books, k=8, mean=0.0):
        super().__init__()
        self.u, self.b = nn.Embedding(users, k), nn.Embedding(books, k)
        self.ub, self.bb = nn.Embedding(users, 1), nn.Embedding(books, 1)
        for e in (self.u, self.b):
            nn.init.normal_(e.weight, std=0.3)
        for e in (self.ub, self.bb):
            nn.init.zeros_(e.weight)
        self.register_buffer("mean", torch.tensor(mean))

    def forward(self, i, j):
        dot = (self.u(i) * self.b(j)).sum(1)
        return self.mean + dot + self.ub(i).squeeze(1) + self.bb(j).squeeze(1)


class Ratings:
    def __init__(self, users=80, books=60, n=6000, seed=9):
        g = torch.Generator().manual_seed(seed)
        tu, tb = torch.randn(users, 4, generator=g), torch.randn(books, 4, generator=g)
        self.user = torch.randint(0, users, (n,), generator=g)
        self.book = torch.randint(0, books, (n,), generator=g)
        taste = 0.5 * (tu[self.user] * tb[self.book]).sum(1)
        self.stars = 3.5 + taste + 0.3 * torch.randn(n, generator=g)
        cut = int(0.85 * n)
        self.train, self.test = slice(0, cut), slice(cut, n)

    def part(self, s):
        return self.user[s], self.book[s], self.stars[s]


class SGDRunner:
    def __init__(self, model, lr, batch_size=64):
        self.model, self.bs = model, batch_size
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.crit = nn.SmoothL1Loss()

    def epoch(self, u, b, s):
        self.model.train()
        tot = 0.0
        for idx in torch.randperm(len(s)).split(self.bs):
            self.opt.zero_grad()
            loss = self.crit(self.model(u[idx], b[idx]), s[idx])
            loss.backward()
            self.opt.step()
            tot += loss.item() * len(idx)
        return tot / len(s)

    @torch.no_grad()
    def score(self, u, b, s):
        self.model.eval()
        return self.crit(self.model(u, b), s).item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(9)
    data = Ratings()
    train, test = data.part(data.train), data.part(data.test)
    model = Factors(80, 60, mean=train[2].mean().item())
    runner = SGDRunner(model, lr=3.0)
    print(f"rating std {test[2].std():.3f}")
    for e in range(15):
        loss = runner.epoch(*train)
        print(f"epoch {e:2d} train huber {loss:.4f} test huber {runner.score(*test):.4f}")


if __name__ == "__main__":
    main()
