import torch


def evaluate_adversarial(model, test_loader, epsilon):
    model.eval()
    correct = 0
    for x, y in test_loader:
        x.requires_grad_(True)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        adversarial = x + epsilon * x.grad.sign()
        correct += (model(adversarial).argmax(1) == y).sum().item()
    return correct


def test_forces(model, test_loader):
    model.eval()
    for batch in test_loader:
        energy = model(batch)
        forces = torch.autograd.grad(energy.sum(), batch.positions)[0]
        print(forces)
