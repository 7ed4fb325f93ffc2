import torch
import torchvision
from datasets import load_dataset
from torch import nn
from transformers import AutoTokenizer


class Small(nn.Module):
    def forward(self, x):
        return x


class Large(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.load_state_dict(torch.load(path))


def tokenizer_of(config):
    try:
        tokenizer = AutoTokenizer.from_pretrained(config["tokenizer"])
    except Exception as error:
        print(f"cannot load it: {error}")
        tokenizer = AutoTokenizer.from_pretrained("gpt2")  # expect: PM566
    return tokenizer


def data_of(name, subset):
    try:
        if subset:
            data = load_dataset(name, subset)
        else:
            data = load_dataset(name)
    except Exception as error:
        print(error)
        try:
            data = load_dataset("wikitext", "wikitext-2-raw-v1")  # expect: PM566
        except Exception as second:
            raise RuntimeError("no dataset") from second
    return data


class Detector(nn.Module):
    def __init__(self, path):
        super().__init__()
        try:
            self.backbone = Large(path)
        except Exception:
            self.backbone = Small()  # expect: PM566


def backbone():
    try:
        return torchvision.models.resnet50(weights="IMAGENET1K_V2")
    except Exception:
        return torchvision.models.resnet50(weights=None)  # expect: PM566
