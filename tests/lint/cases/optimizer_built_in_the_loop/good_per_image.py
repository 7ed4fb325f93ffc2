import torch


def stylise(images, net, steps):
    for image in images:
        canvas = image.clone().requires_grad_(True)
        optimizer = torch.optim.Adam([canvas], lr=0.01)
        for _ in range(steps):
            optimizer.zero_grad()
            net(canvas).mean().backward()
            optimizer.step()
