"""torch.jit.script of many layers, before, while and after training."""
import warnings
warnings.simplefilter("ignore")
import torch
from torch import nn
layers = [
    nn.Dropout(), nn.BatchNorm1d(4), nn.LayerNorm(4), nn.GroupNorm(2, 4), nn.LSTM(4, 4), nn.GRU(4, 4), nn.RNN(4, 4),
    nn.MultiheadAttention(4, 2), nn.TransformerEncoderLayer(4, 2), nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), 2),
    nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss(), nn.NLLLoss(), nn.KLDivLoss(), nn.HuberLoss(), nn.CTCLoss(),
    nn.Embedding(4, 4), nn.Conv2d(1, 1, 3), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Softmax(-1), nn.GELU(), nn.PReLU(),
    nn.Upsample(scale_factor=2), nn.InstanceNorm1d(4), nn.AlphaDropout(), nn.Dropout2d(), nn.Bilinear(2, 2, 2),
]
model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1), nn.BatchNorm1d(4), nn.Linear(4, 1))
optimizer = torch.optim.Adam(model.parameters())
def script_all(moment):
    for layer in [*layers, model]:
        try:
            scripted = torch.jit.script(layer)
            print(moment, type(layer).__name__, len(str(scripted.graph)))
        except Exception as error:
            print(moment, type(layer).__name__, type(error).__name__, str(error)[:80])
script_all("before")
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 4)).sum().backward()
    optimizer.step()
script_all("after")
