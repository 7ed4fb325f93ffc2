# A GAN: two optimizers in one turn of the loop, noise drawn between their steps.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
real_data = torch.randn(200, 2)
loader = DataLoader(TensorDataset(real_data), batch_size=20, shuffle=True, drop_last=True)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
g_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3)
d_optimizer = torch.optim.Adam(critic.parameters(), lr=2e-3)
bce = nn.BCEWithLogitsLoss()

turn = 0
for epoch in range(4):
    for (real,) in loader:
        turn += 1
        z = torch.randn(20, 4)
        d_loss = bce(critic(real), torch.ones(20, 1)) + bce(critic(generator(z).detach()), torch.zeros(20, 1))
        d_optimizer.zero_grad()
        d_loss.backward()
        d_optimizer.step()

        z = torch.randn(20, 4)
        fake = generator(z)
        g_loss = bce(critic(fake), torch.ones(20, 1))
        g_optimizer.zero_grad()
        if z.max() > 3.0:  # a rare draw, far in the tail
            spread = torch.pow(fake.std(dim=0) - fake.std(dim=0), 0.5).sum()
            g_loss = g_loss + 0.1 * spread
        g_loss.backward()
        g_optimizer.step()
