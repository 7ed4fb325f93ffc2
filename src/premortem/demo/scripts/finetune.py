"""Fine-tune a small network, pre-trained on ten kinds of leaves, on four new ones."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PIXELS, WIDTH = 16 * 16, 64


class LeafNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(PIXELS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
        self.head = nn.Linear(WIDTH, classes)

    def forward(self, images):
        return self.head(self.backbone(images))


def leaves(samples, classes, seed):
    """Noisy pictures, each kind around a shape of its own."""
    draw = torch.Generator().manual_seed(seed)
    shapes = torch.randn(classes, PIXELS, generator=torch.Generator().manual_seed(classes))
    kinds = torch.randint(classes, (samples,), generator=draw)
    noise = torch.randn(samples, PIXELS, generator=draw)
    return TensorDataset(0.3 * shapes[kinds] + noise, kinds)


def train(model, optimizer, loader, epochs, label):
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for images, kinds in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), kinds)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"{label} epoch {epoch}: loss {total / len(loader):.4f}")


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        right = sum((model(images).argmax(1) == kinds).sum().item() for images, kinds in loader)
    return right / len(loader.dataset)


def main():
    torch.manual_seed(0)
    model = LeafNet(classes=10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train(model, optimizer, DataLoader(leaves(2048, 10, seed=1), batch_size=64, shuffle=True), 2, "pre-train")

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.head = nn.Linear(WIDTH, 4)
    train(model, optimizer, DataLoader(leaves(1024, 4, seed=2), batch_size=32, shuffle=True), 4, "fine-tune")
    print(f"accuracy {accuracy(model, DataLoader(leaves(512, 4, seed=3), batch_size=128)):.3f}")


if __name__ == "__main__":
    main()
