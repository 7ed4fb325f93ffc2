"""Single-scale ship detector: objectness per grid cell, box offsets for the cells that hold a ship."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

GRID, CELL = 4, 4


class Radar(Dataset):
    def __init__(self, n, seed, p_ship=0.42):
        g = torch.Generator().manual_seed(seed)
        s = GRID * CELL
        yy, xx = torch.meshgrid(torch.arange(s).float(), torch.arange(s).float(), indexing="ij")
        self.items = []
        for _ in range(n):
            img = 0.4 * torch.randn(s, s, generator=g)
            obj, box = torch.zeros(GRID, GRID), torch.zeros(3, GRID, GRID)
            if torch.rand(1, generator=g) < p_ship:
                i, j = torch.randint(0, GRID, (2,), generator=g).tolist()
                dy, dx, r = torch.rand(3, generator=g).tolist()
                cy, cx, rad = i * CELL + dy * CELL, j * CELL + dx * CELL, 1.0 + 1.5 * r
                img = img + 1.5 * torch.exp(-((yy - cy) ** 2 + (xx - cx) ** 2) / (2 * rad ** 2))
                obj[i, j] = 1
                box[:, i, j] = torch.tensor([dy, dx, r])
            self.items.append((img[None], obj, box))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class ShipNet(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                               nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                               nn.Conv2d(2 * c, 2 * c, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(2 * c, 4, 1)

    def forward(self, x):
        y = self.out(self.f(x))
        return y[:, 0], y[:, 1:]


def detection_loss(pred, obj, box):
    logit, off = pred
    found = F.binary_cross_entropy_with_logits(logit, obj)
    err = (off - box).pow(2).sum(1) * obj
    return found, err.sum() / obj.sum().clamp(min=1)


def main(epochs=9):
    torch.set_num_threads(1)
    torch.manual_seed(52)
    train = DataLoader(Radar(640, 1), batch_size=10, shuffle=True)
    val = [torch.stack(t) for t in zip(*Radar(200, 2).items)]
    net = ShipNet()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(epochs):
        net.train()
        s_found = s_box = 0.0
        for img, obj, box in train:
            found, reg = detection_loss(net(img), obj, box)
            opt.zero_grad()
            (found + 0.5 * reg).backward()
            opt.step()
            s_found, s_box = s_found + found.item(), s_box + reg.item()
        net.eval()
        with torch.no_grad():
            pred = net(val[0])
            found, reg = detection_loss(pred, *val[1:])
            hit = ((pred[0] > 0) == (val[1] > 0)).all(-1).all(-1).float().mean().item()
        print(f"epoch {epoch} objectness {s_found / len(train):.4f} box {s_box / len(train):.4f} "
              f"| val {found:.4f} {reg:.4f} exact frames {hit:.3f}")


if __name__ == "__main__":
    main()
