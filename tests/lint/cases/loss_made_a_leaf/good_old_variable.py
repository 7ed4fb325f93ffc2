from torch.autograd import Variable


def train(model, loader, criterion, optimizer):
    for x, y in loader:
        x, y = Variable(x), Variable(y)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
