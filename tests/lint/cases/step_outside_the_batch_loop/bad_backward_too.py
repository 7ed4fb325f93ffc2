def train(model, loader, criterion, optimizer, epochs):
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            loss = criterion(out, y)
        loss.backward()
        optimizer.step()  # expect: PM552
        print(epoch, loss.item())


def once(model, train_loader, criterion, opt):
    running = 0.0
    for i, (x, y) in enumerate(train_loader):
        opt.zero_grad()
        loss = criterion(model(x), y)
        running += loss.item()
    loss.backward()
    opt.step()  # expect: PM552
    return running


class Trainer:
    def epoch(self):
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()  # expect: PM552

    def other(self, x):
        self.optimizer.step()
