import torch


def stylise(net, image, optimizer):
    """Trains the image, with a network that stays in evaluation."""
    net.eval()
    for _step in range(300):
        optimizer.zero_grad()
        loss = net(image).mean()
        loss.backward()
        optimizer.step()
    return image


def embed(model, files):
    model.eval()
    found = []
    for name in files:
        with torch.no_grad():
            found.append(model.encoder(torch.load(name)))
    return found


def names(model, files):
    """Nothing is run in the loop."""
    model.eval()
    return [model.name_of(one) for one in files]


def distil(teacher, student, loader, trainer):
    teacher.eval()
    for batch in loader:
        trainer.step(student(batch), teacher(batch))
