"""Whole models, optimizers and functions through pickle."""
import io
import pickle
import torch
import torch.nn.functional as F
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.activation = F.relu
        self.loss = F.cross_entropy
        self.drop = F.dropout
    def forward(self, x):
        return self.drop(self.activation(self.layer(x)), 0.0)
model = Net()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    optimizer.zero_grad()
    model.loss(model(torch.ones(1, 2)), torch.tensor([0])).backward()
    optimizer.step()
data = pickle.dumps(model)
again = pickle.loads(data)
print(torch.equal(again.layer.weight, model.layer.weight), again.loss is F.cross_entropy)
print(len(pickle.dumps(optimizer)) == len(pickle.dumps(pickle.loads(pickle.dumps(optimizer)))))
for thing in (F.mse_loss, torch.save, torch.optim.SGD, torch.load, torch.autograd.backward):
    print(pickle.loads(pickle.dumps(thing)) is thing, b"premortem" in pickle.dumps(thing))
buffer = io.BytesIO()
torch.save(model, buffer)
print(b"premortem" in buffer.getvalue(), len(buffer.getvalue()))
buffer.seek(0)
print(type(torch.load(buffer, weights_only=False)).__name__)
try:
    pickle.dumps(lambda: 0)
except Exception as error:
    print(type(error).__name__)
