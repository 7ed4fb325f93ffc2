import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, kernel_size=3, pading=1)  # expect: PM580
        self.norm = nn.BatchNorm2d(8, epsilon=1e-5)  # expect: PM580
        self.rnn = nn.LSTM(8, 8, batch_firts=True)  # expect: PM580
        self.pool = nn.MaxPool2d(2, strides=2)  # expect: PM580

    def forward(self, x):
        x = F.max_pool2d(self.conv(x), 2, pad=1)  # expect: PM580
        x = F.conv2d(x, x, paddings=1)  # expect: PM580
        x = torch.fft.fft(x, dims=-1)  # expect: PM580
        return F.softmax(x, axis=1)  # expect: PM580


def setup(dataset, model):
    loader = DataLoader(dataset, batch_siz=4)  # expect: PM580
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_deca=0.1)  # expect: PM580
    criterion = nn.CrossEntropyLoss(label_smooth=0.1)  # expect: PM580
    state = torch.load("model.pt", map_location="cpu", weight_only=True)  # expect: PM580
    x = torch.zeros(3, requires_grads=True)  # expect: PM580
    n = torch.norm(x, axis=0)  # expect: PM580
    nn.utils.clip_grad_norm_(model.parameters(), max_norms=1.0)  # expect: PM580
    return loader, optimizer, criterion, state, x, n
