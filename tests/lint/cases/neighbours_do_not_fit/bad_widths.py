from torch import nn

head = nn.Sequential(
    nn.Linear(10, 64),
    nn.ReLU(),
    nn.Linear(32, 10),  # expect: PM558
)
body = nn.Sequential(
    nn.Conv2d(3, 16, 3),
    nn.BatchNorm2d(32),  # expect: PM558
    nn.ReLU(),
    nn.Conv2d(16, 8, 3),
)
