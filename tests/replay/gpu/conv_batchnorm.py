import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(13)
images = torch.rand(80, 3, 32, 32)
images[52] = 0.4  # one flat image
loader = DataLoader(TensorDataset(images, torch.randint(0, 5, (80,))), batch_size=8)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5)
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
for x, y in loader:
    x, y = x.to(device), y.to(device)
    low, high = x.amin(dim=(1, 2, 3), keepdim=True), x.amax(dim=(1, 2, 3), keepdim=True)
    loss = F.cross_entropy(model((x - low) / (high - low)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
