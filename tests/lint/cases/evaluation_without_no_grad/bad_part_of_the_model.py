import torch


def find_neighbours(model, query, loader):
    model.eval()
    distances = []
    for image in loader:  # expect: PM536
        distances.append(torch.dist(model.features(image), model.features(query)).item())
    return distances


def evalGAN(net, frames, env):
    net.eval()
    total = 0.0
    while not env.done:  # expect: PM536
        action = net(env.state)
        total += env.step(int(action.argmax()))
    return total
