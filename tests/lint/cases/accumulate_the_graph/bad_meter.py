class Meter:
    def __init__(self):
        self.total = 0.0

    def add(self, value):
        self.total += value


def train(model, loader, optimizer, criterion):
    meter = Meter()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        meter.add(loss)  # expect: PM543
    return meter
