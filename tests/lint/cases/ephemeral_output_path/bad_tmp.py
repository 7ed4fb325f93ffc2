import torch


def train(model, loader, optimizer):
    best = float("inf")
    for epoch in range(100):
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if loss.item() < best:
            best = loss.item()
            torch.save(model.state_dict(), "/tmp/best_model.pt")  # expect: PM544
