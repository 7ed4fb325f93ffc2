import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.softmax = nn.Softmax()  # expect: PM524
        self.log = nn.LogSoftmax()  # expect: PM524

    def forward(self, x):
        return F.log_softmax(self.fc(x))  # expect: PM524


def attention(q, k):
    return F.softmax(q @ k.transpose(1, 2))  # expect: PM524
