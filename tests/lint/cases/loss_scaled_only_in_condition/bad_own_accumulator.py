class Accumulator:
    def __init__(self, optimizer, every):
        self.optimizer, self.every, self.count = optimizer, every, 0

    def __call__(self, loss):
        self.count += 1
        boundary = self.count % self.every == 0
        if boundary:
            loss = loss / self.every  # expect: PM541
        loss.backward()
        if boundary:
            self.optimizer.step()
            self.optimizer.zero_grad()
