import numpy as np
import torch


def predict(model, dataloader):
    model.eval()
    outputs = []
    for batch in dataloader:  # expect: PM536
        logits = model(batch["input_ids"])
        outputs.append(logits.detach().cpu().numpy())
    return np.concatenate(outputs)


def main(model, dataloader):
    print(predict(model, dataloader).shape)
