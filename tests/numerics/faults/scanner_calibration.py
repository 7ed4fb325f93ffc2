# refresh BatchNorm statistics on calibration scans now and then
import torch
from torch import nn


class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, 2)

    def forward(self, img):
        h = self.conv(img)
        h = self.bn(h)
        return self.fc(h.relu().mean((2, 3)))


torch.manual_seed(79)
model = Scan()
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for step in range(50):
    img = torch.rand(10, 1, 12, 12)
    y = (img.mean((1, 2, 3)) > 0.5).long()
    loss = nn.functional.cross_entropy(model(img), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 7:
        calib = torch.rand(10, 1, 12, 12)
        if step == 23:
            calib[6] *= 1e20  # raw detector counts, not yet divided by exposure
        with torch.no_grad():
            model(calib)
    if step % 10 == 9:
        model.eval()
        with torch.no_grad():
            print(step, model(img).softmax(1)[0].tolist())
        model.train()
