class Stopper:
    def __init__(self):
        self.best, self.best_state = 0.0, None

    def step(self, score, model):
        if score > self.best:
            self.best = score
            self.best_state = model.state_dict()  # expect: PM564


class Getter:
    def __init__(self):
        self.best, self.kept = 0.0, None

    def step(self, score, model):
        if score > self.best:
            self.best = score
            self.kept = model.state_dict()  # expect: PM564

    def best_weights(self):
        return self.kept


class Counter:
    def __init__(self):
        self.best, self.last = 0.0, None

    def step(self, score, model):
        if score > self.best:
            self.last = model.state_dict()
            print(len(self.last))
