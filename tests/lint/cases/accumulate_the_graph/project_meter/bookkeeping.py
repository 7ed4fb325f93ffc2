class Average:
    def __init__(self):
        self.sum, self.count = 0, 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n


class Numbers:
    def __init__(self):
        self.sum = 0

    def update(self, value, n=1):
        value = float(value)
        self.sum += value * n


class Last:
    def update(self, value, n=1):
        self.value = value
        self.count += n


class Mean:
    def __init__(self):
        self.n = 0
        self.v = 0

    def add(self, x):
        self.v = (self.v * self.n + x) / (self.n + 1)
        self.n += 1


class Newest:
    def __init__(self):
        self.v = 0

    def add(self, x):
        self.v = x + 1
