import torch
import torchvision
from torch import nn
from transformers import AutoModel, AutoTokenizer


def from_the_cache_first(name):
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=True)
    except Exception:
        tokenizer = AutoTokenizer.from_pretrained(name)
    return tokenizer


def from_a_folder_first():
    try:
        model = AutoModel.from_pretrained("./weights/bert-base-uncased")
    except Exception:
        model = AutoModel.from_pretrained("google-bert/bert-base-uncased")
    return model


def made_from_the_name(folder, name):
    try:
        model = AutoModel.from_pretrained(f"{folder}/{name}")
    except Exception:
        model = AutoModel.from_pretrained(f"organisation/{name}")
    return model


def refuses(name):
    try:
        model = AutoModel.from_pretrained(name)
    except Exception:
        if name != "gpt2":
            raise
        model = AutoModel.from_pretrained("gpt2-medium")
    return model


class Plain(nn.Module):
    def forward(self, x):
        return x


class Fast(nn.Module):
    def forward(self, x):
        return x


def a_package_that_may_be_missing():
    try:
        import flash_attn

        layer = Fast(flash_attn)
    except Exception:
        layer = Plain()
    return layer


def one_error(name):
    try:
        model = AutoModel.from_pretrained(name)
    except FileNotFoundError:
        model = AutoModel.from_pretrained("gpt2")
    return model


def an_older_interface():
    try:
        return torchvision.models.resnet18(weights="IMAGENET1K_V1")
    except Exception:
        return torchvision.models.resnet18(pretrained=True)


def a_number(path):
    try:
        size = torch.load(path)
    except Exception:
        size = 3
    return size
