"""Sea-surface temperature retrieval from orbiting radiometer passes; the optimizer specialises its update plan."""
import torch
import torch.nn as nn


class PlannedSGD(torch.optim.Optimizer):
    """Momentum SGD that records which tensors to touch and replays that plan while its guard holds."""

    def __init__(self, params, lr, momentum=0.9):
        super().__init__(params, dict(lr=lr, momentum=momentum))
        self._plan = None

    def _all(self):
        return [(group, p) for group in self.param_groups for p in group["params"]]

    def _record(self):
        self._mask = [p.grad is not None for _, p in self._all()]
        self._plan = [(g, p) for (g, p), live in zip(self._all(), self._mask) if live]

    def _guard(self):
        return self._plan is not None and self._mask == [p.grad is not None for _, p in self._all()]

    @torch.no_grad()
    def step(self, closure=None):
        if not self._guard():
            self._record()
        for group, p in self._plan:
            state = self.state[p]
            if "buf" not in state:
                state["buf"] = torch.zeros_like(p)
            state["buf"].mul_(group["momentum"]).add_(p.grad)
            p.add_(state["buf"], alpha=-group["lr"])


def orbit_pass(g, k, size=40):
    """One pass: brightness temperatures, truth, and a cloud mask. Pass 37 crosses a storm and sees only cloud."""
    sst = torch.randn(size, generator=g)
    vapour = torch.randn(size, generator=g)
    weights = torch.tensor([1.0, 0.7, 0.4, 0.2])
    tb = sst[:, None] * weights + torch.tanh(vapour)[:, None] * weights.flip(0) + 0.1 * torch.randn(size, 4, generator=g)
    clear = torch.zeros(size, dtype=torch.bool) if k == 37 else torch.rand(size, generator=g) > 0.4
    return tb, (sst * (1 + 0.2 * sst.tanh()))[:, None], clear


def main(passes=300):
    torch.set_num_threads(1)
    torch.manual_seed(115)
    g = torch.Generator().manual_seed(115)
    val = [orbit_pass(g, -1) for _ in range(10)]
    vx, vy = torch.cat([v[0] for v in val]), torch.cat([v[1] for v in val])
    net = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
    opt = PlannedSGD(net.parameters(), lr=0.005)
    run, seen = 0.0, 0
    for k in range(1, passes + 1):
        tb, sst, clear = orbit_pass(g, k)
        opt.zero_grad()
        if clear.any():
            loss = nn.functional.mse_loss(net(tb[clear]), sst[clear])
            loss.backward()
            run, seen = run + loss.item(), seen + 1
        opt.step()
        if k % 30 == 0:
            with torch.no_grad():
                rmse = nn.functional.mse_loss(net(vx), vy).sqrt().item()
            print(f"pass {k:3d} mse {run / seen:.4f} ({seen} usable) val rmse {rmse:.4f}")
            run, seen = 0.0, 0


if __name__ == "__main__":
    main()
