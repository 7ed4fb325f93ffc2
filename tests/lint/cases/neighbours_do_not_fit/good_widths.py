from torch import nn

width = 64
head = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))
loose = nn.Sequential(nn.Linear(10, width), nn.Linear(32, 10))
flat = nn.Sequential(nn.Conv2d(3, 16, 3), nn.Flatten(), nn.Linear(400, 10))
pixel = nn.Sequential(nn.Conv2d(3, 16, 3), nn.PixelShuffle(2), nn.Conv2d(4, 8, 3))
sequence = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(20), nn.Linear(64, 2))
