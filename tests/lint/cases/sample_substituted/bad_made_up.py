import torch
from PIL import Image
from torch import nn


class Momentum(nn.Module):
    def __init__(self, period):
        super().__init__()
        self.head = nn.Linear(period, 1)

    def forward(self, x):
        try:
            return self.head(x)
        except Exception as error:
            print(error)
            return torch.zeros(x.shape[0], 1)  # expect: PM507


class Search:
    def embeddings(self, model, parts):
        chunks = []
        for part in parts:
            try:
                found = model.encode_input(part)
                found = self.shaped(found)
                chunks.append(found.cpu())
            except Exception as error:
                print_rank(f"failed: {error}")
                dummy = torch.randn(len(part), 768)
                chunks.append(dummy)  # expect: PM507
        return torch.cat(chunks)

    def queries(self, path):
        try:
            found = self.read(path)
            return self.parsed(found), path
        except Exception:
            return self._create_dummy_queries()  # expect: PM507

    def pictures(self, paths):
        images = []
        for path in paths:
            try:
                image = Image.open(path).convert("RGB")
                images.append(image)
            except Exception:
                images.append(Image.new("RGB", (224, 224)))  # expect: PM507
        return images
