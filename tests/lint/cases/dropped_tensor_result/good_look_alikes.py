import torch
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
