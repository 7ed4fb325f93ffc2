import torch
import pytest
from boxes import Boxes
from transformers import AutoTokenizer


def train(model, teacher, batch, device):
    model.to(device)
    model.half()
    logits = model(batch)
    teacher.float()  # nothing shows what it is
    print(model.dtype, teacher.dtype)
    return logits.to(device)


def encode(tokenizer, text, device):
    inputs = tokenizer(text, return_tensors="pt")
    inputs.to(device)  # a BatchEncoding moves in place
    return inputs


def clear(x, mask):
    x.masked_fill_(mask, 0.0)
    x.squeeze_()
    x = x.clamp(0, 1)
    x.backward()
    return x


class Table:
    def show(self):
        self.window.view("rows")
        self.rows.expand()
        self.document.clone()


def probes(x: torch.Tensor):
    try:
        x.cuda()
    except RuntimeError:
        print("no device")
    with pytest.raises(RuntimeError):
        x.view(3, 5)
    with torch.profiler.profile():
        x.double()
    return x.shape


class Augment:
    def boxes(self, boxes: Boxes, found):
        boxes.clamp(0, 1, inplace=True)
        boxes.filter(boxes.shape)
        out: Boxes = found
        out.clamp(0, 1)
        torch.clamp(found, 0, 1)
        return out.shape
