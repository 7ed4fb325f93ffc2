import torch
from torch.utils.data import DataLoader, TensorDataset


def train(model, data, device):
    loader = DataLoader(TensorDataset(*data), batch_size=8, shuffle=True)
    for i, batch in enumerate(loader, 0):
        audio = batch[0]
        audio.to(device)  # expect: PM501
        model(audio)
    for x, y in loader:
        x.to(device)  # expect: PM501
        model(x)


def train_with_its_own_batches(model, data, device, collate):
    loader = DataLoader(data, batch_size=8, collate_fn=collate)
    for text, y in loader:
        text.to(device)
        model(text)
    for i, batch in enumerate(DataLoader(data)):
        batch.to(device)
        model(batch)
