import torch


def val_epoch(network, val_loader, metric):
    scores = []
    with torch.inference_mode():
        for step, (image, mask) in enumerate(val_loader):  # expect: PM537
            scores.append(metric(network(image), mask))
    return sum(scores) / len(scores)


def main(network, train_loader, val_loader, optimizer, metric):
    for epoch in range(10):
        network.train()
        for image, mask in train_loader:
            optimizer.zero_grad()
            loss = network(image, mask)
            loss.backward()
            optimizer.step()
        print(val_epoch(network, val_loader, metric))
