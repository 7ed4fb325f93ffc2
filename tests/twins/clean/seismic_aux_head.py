"""Seismic event network with an auxiliary magnitude head that is only used during the first phase."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SeismicNet(nn.Module):
    def __init__(self, n_types=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(1, 12, 7, stride=2, padding=3), nn.ReLU())
        self.aux_head = nn.Linear(12, 1)
        self.body = nn.Sequential(nn.Conv1d(12, 24, 5, stride=2, padding=2), nn.ReLU())
        self.head = nn.Linear(24 * 16, n_types)

    def forward(self, x, with_aux=False):
        h = self.stem(x)
        logits = self.head(self.body(h).flatten(1))
        return (logits, self.aux_head(h.amax(2)).squeeze(1)) if with_aux else logits


def events(n):
    kind = torch.randint(0, 4, (n,))
    t = torch.arange(64.0)
    onset = 12 + 6 * torch.rand(n, 1)
    after = (t - onset).clamp(min=0)
    freq = torch.tensor([0.25, 0.6, 0.25, 0.6])[kind].unsqueeze(1) + 0.03 * torch.randn(n, 1)
    decay = torch.tensor([6.0, 6.0, 18.0, 18.0])[kind].unsqueeze(1)
    magnitude = torch.randn(n)
    amp = torch.exp(0.3 * magnitude).unsqueeze(1)
    trace = amp * (after > 0) * torch.exp(-after / decay) * torch.sin(freq * after) * 2 + 0.25 * torch.randn(n, 64)
    return trace.unsqueeze(1), kind, magnitude


def main(aux_epochs=4, epochs=10, bs=40):
    torch.set_num_threads(1)
    torch.manual_seed(94)
    x, kind, mag = events(1600)
    xv, kv, _ = events(500)
    net = SeismicNet()
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-2)
    for epoch in range(epochs):
        use_aux = epoch < aux_epochs
        net.train()
        main_sum = aux_sum = 0.0
        for idx in torch.randperm(len(x)).split(bs):
            opt.zero_grad(set_to_none=True)
            if use_aux:
                logits, m = net(x[idx], with_aux=True)
                aux = F.smooth_l1_loss(m, mag[idx])
            else:
                logits, aux = net(x[idx]), torch.zeros(())
            main_loss = F.cross_entropy(logits, kind[idx])
            (main_loss + 0.4 * aux).backward()
            opt.step()
            main_sum += main_loss.item() * len(idx)
            aux_sum += aux.item() * len(idx)
        net.eval()
        with torch.no_grad():
            acc = (net(xv).argmax(1) == kv).float().mean().item()
        extra = f"aux {aux_sum / len(x):.4f}" if use_aux else "aux off"
        print(f"epoch {epoch} loss {main_sum / len(x):.4f} {extra} val acc {acc:.3f}")


if __name__ == "__main__":
    main()
