# similarities in half precision, autocast left by hand
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(67)
images = torch.randn(480, 20)
texts = images[:, :12] + 0.1 * torch.randn(480, 12)
images[341] *= 900.0
towers = nn.ModuleDict({"image": nn.Linear(20, 32), "text": nn.Linear(12, 32)})
opt = torch.optim.SGD(towers.parameters(), lr=1e-3)


def contrast(a, b):
    scores = a.half() @ (40 * b).half().t()
    names = torch.arange(len(a))
    return (F.cross_entropy(scores.float(), names) + F.cross_entropy(scores.float().t(), names)) / 2


def train(epochs):
    for epoch in range(epochs):
        for image, text in DataLoader(TensorDataset(images, texts), batch_size=20):
            opt.zero_grad()
            loss = contrast(towers["image"](image), towers["text"](text))
            loss.backward()
            opt.step()
        print(epoch, loss.item())


train(2)
