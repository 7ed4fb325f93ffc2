"""A small classifier on folders of images, one folder for each class."""

import os

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

DATA_DIR = "./flowers"
BATCH = 16
EPOCHS = 2


class Folder(Dataset):
    def __init__(self, split):
        root = os.path.join(DATA_DIR, split)
        self.classes = sorted(os.listdir(root))
        self.items = []
        for label, name in enumerate(self.classes):
            for file in sorted(os.listdir(os.path.join(root, name))):
                self.items.append((os.path.join(root, name, file), label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        image = Image.open(path).convert("RGB").resize((32, 32))
        return torch.from_numpy(np.array(image)).permute(2, 0, 1).float() / 127.5 - 1, label


def accuracy(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for images, labels in loader:
            right += (model(images).argmax(1) == labels).sum().item()
            total += len(labels)
    return right / total


torch.manual_seed(1)
train_set, val_set = Folder("train"), Folder("val")
train_loader = DataLoader(train_set, batch_size=BATCH, shuffle=True)
val_loader = DataLoader(val_set, batch_size=BATCH)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, len(train_set.classes)),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(EPOCHS):
    model.train()
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: val accuracy {accuracy(model, val_loader):.3f}")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "flowers.pt")
