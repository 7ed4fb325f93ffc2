"""Solar exposure from noisy elevation patches; every item is a random crop of one large map."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, get_worker_info


def elevation_map(size=220, seed=9):
    rng = np.random.default_rng(seed)
    spec = np.fft.fft2(rng.normal(size=(size, size)))
    f = np.hypot(*np.meshgrid(np.fft.fftfreq(size), np.fft.fftfreq(size)))
    z = np.real(np.fft.ifft2(spec / (0.02 + f) ** 1.8))
    return (z - z.mean()) / z.std()


class RandomPatches(Dataset):
    def __init__(self, z, n, side=7, rows=(0, 150), seed=0):
        self.z, self.n, self.side, self.rows = z, n, side, rows
        gy, gx = np.gradient(z)
        self.sun = np.tanh(4 * (gx + 0.5 * gy)) + 0.4 * z
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        r = self.rng.integers(self.rows[0], self.rows[1] - self.side)
        c = self.rng.integers(0, self.z.shape[1] - self.side)
        patch = self.z[r:r + self.side, c:c + self.side] + self.rng.normal(0, 0.05, (self.side, self.side))
        target = self.sun[r + self.side // 2, c + self.side // 2] + self.rng.normal(0, 0.2)
        return torch.tensor(patch, dtype=torch.float32), torch.tensor([target], dtype=torch.float32)


def seed_worker(worker_id):
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


def evaluate(net, x, y):
    net.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(net(x), y).item()


def main(epochs=15):
    torch.set_num_threads(1)
    torch.manual_seed(671)
    z = elevation_map()
    train = DataLoader(RandomPatches(z, 320), batch_size=20, num_workers=2, worker_init_fn=seed_worker)
    held = RandomPatches(z, 600, rows=(150, 220), seed=1)
    xv, yv = (torch.stack(t) for t in zip(*[held[i] for i in range(len(held))]))
    net = nn.Sequential(nn.Flatten(), nn.Linear(49, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(epochs):
        net.train()
        total = 0.0
        for x, y in train:
            loss = nn.functional.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch:2d} train mse {total / len(train):.4f} held-out mse {evaluate(net, xv, yv):.4f}")


if __name__ == "__main__":
    main()
