"""Gas mixture estimation in float16 autocast on CPU with dynamic loss scaling."""
import torch
from torch import nn

GASES, SENSORS = 3, 24


def plume(n, g, response):
    conc = torch.rand(n, GASES, generator=g)
    signal = torch.tanh(1.5 * conc @ response) + 0.03 * torch.randn(n, SENSORS, generator=g)
    return signal, conc


class Nose(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(SENSORS, h), nn.Linear(h, h), nn.Linear(h, GASES)
        self.act = nn.GELU()

    def forward(self, x):
        return self.l3(self.act(self.l2(self.act(self.l1(x)))))


def main(epochs=10, bs=48):
    torch.set_num_threads(1)
    torch.manual_seed(16)
    g = torch.Generator().manual_seed(16)
    response = torch.randn(GASES, SENSORS, generator=g)
    x, c = plume(2400, g, response)
    xv, cv = plume(500, g, response)
    model = Nose()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    # a deliberately generous start value: the scaler skips the first updates until the scale fits float16
    scaler = torch.amp.GradScaler(device="cpu", init_scale=2.0 ** 24, growth_interval=200)
    mse = nn.MSELoss()
    for epoch in range(epochs):
        model.train()
        total = skipped = 0.0
        for idx in torch.randperm(len(x), generator=g).split(bs):
            opt.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                pred = model(x[idx])
            loss = mse(pred.float(), c[idx])
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            before = scaler.get_scale()
            scaler.step(opt)
            scaler.update()
            skipped += scaler.get_scale() < before
            total += loss.item()
        model.eval()
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.float16):
            val = mse(model(xv).float(), cv).item()
        print(f"epoch {epoch} train {total / 50:.5f} val {val:.5f} scale {scaler.get_scale():.0f} skipped {int(skipped)}")


if __name__ == "__main__":
    main()
