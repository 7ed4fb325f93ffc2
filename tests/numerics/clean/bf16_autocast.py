import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(2)
    images = torch.rand(480, 1, 8, 8)
    labels = (images[:, 0, :4].mean((1, 2)) > images[:, 0, 4:].mean((1, 2))).long()
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 2))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(3):
        correct = 0
        for x, y in DataLoader(TensorDataset(images, labels), batch_size=24, shuffle=True):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(x)
                loss = nn.functional.cross_entropy(logits, y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            correct += (logits.argmax(1) == y).sum().item()
        print(epoch, correct / 480)


main()
