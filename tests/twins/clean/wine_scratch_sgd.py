"""Wine cultivar softmax network, teaching version: no torch.optim, no nn.Module."""
import torch


def init(n_in, n_hidden, n_out):
    w1 = torch.randn(n_in, n_hidden) * (2 / n_in) ** 0.5
    w2 = torch.randn(n_hidden, n_out) * (1 / n_hidden) ** 0.5
    params = [w1, torch.zeros(n_hidden), w2, torch.zeros(n_out)]
    return [p.requires_grad_() for p in params]


def forward(params, x):
    w1, b1, w2, b2 = params
    return torch.relu(x @ w1 + b1) @ w2 + b2


def nll(logits, y):
    return -logits.log_softmax(dim=1)[torch.arange(len(y)), y].mean()


def chemistry(n):
    means = torch.tensor([[13.7, 2.0, 2.45, 17.0, 2.84, 5.5], [12.3, 1.9, 2.24, 20.2, 2.26, 3.1],
                          [13.1, 3.3, 2.44, 21.4, 1.68, 7.4]])
    stds = torch.tensor([0.6, 0.9, 0.25, 3.0, 0.5, 1.6])
    y = torch.randint(0, 3, (n,))
    return means[y] + stds * torch.randn(n, 6), y


def main(lr=0.15, epochs=12, batch=30):
    torch.set_num_threads(1)
    torch.manual_seed(178)
    x, y = chemistry(1200)
    xv, yv = chemistry(400)
    mean, std = x.mean(0), x.std(0)
    x, xv = (x - mean) / std, (xv - mean) / std
    params = init(6, 32, 3)
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(x)).split(batch):
            loss = nll(forward(params, x[idx]), y[idx])
            loss.backward()
            with torch.no_grad():
                for p in params:
                    p -= lr * p.grad
                    p.grad = None
            total += loss.item() * len(idx)
        with torch.no_grad():
            logits = forward(params, xv)
        print(f"epoch {epoch:2d} train nll {total / len(x):.4f} val nll {nll(logits, yv):.4f} "
              f"val acc {(logits.argmax(1) == yv).float().mean():.3f}")


if __name__ == "__main__":
    main()
