import torch


def evaluate_loss_on_training_data(model, train_loader):
    model.eval()
    losses = []
    for picture, label in train_loader:  # expect: PM536
        losses.append(torch.nn.functional.cross_entropy(model(picture), label).item())
    return sum(losses) / len(losses)
