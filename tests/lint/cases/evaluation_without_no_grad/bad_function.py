import torch


def evaluate(model, loader, criterion, device):
    model.eval()
    total, correct = 0.0, 0
    for images, labels in loader:  # expect: PM536
        images, labels = images.to(device), labels.to(device)
        outputs = model(images)
        total += criterion(outputs, labels).item()
        correct += (outputs.argmax(1) == labels).sum().item()
    return total / len(loader), correct / len(loader.dataset)
