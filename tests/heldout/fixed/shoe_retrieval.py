"""Match customer photos to catalogue shoes: embedding trained with a triplet loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ShoeEncoder(nn.Module):
    def __init__(self, d_in=40, d_out=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, d_out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class Catalogue:
    def __init__(self, n_models, g, d=40):
        self.shape = torch.randn(n_models, 12, generator=g)
        self.render = torch.randn(12, d, generator=g) / 12 ** 0.5
        self.clutter = torch.randn(12, d, generator=g) / 12 ** 0.5
        self.g = g

    def photos(self, ids):
        style = 1.3 * torch.randn(len(ids), 12, generator=self.g)
        noise = 0.15 * torch.randn(len(ids), self.render.shape[1], generator=self.g)
        return torch.tanh(self.shape[ids] @ self.render) + style @ self.clutter + noise


@torch.no_grad()
def embed(model, x):
    model.eval()
    return model(x)


def recall_at_1(queries, query_ids, gallery, gallery_ids):
    nearest = (queries @ gallery.t()).argmax(1)
    return (gallery_ids[nearest] == query_ids).float().mean().item()


def main(epochs=10, steps=60, batch=64, margin=0.3):
    torch.set_num_threads(1)
    torch.manual_seed(14)
    g = torch.Generator().manual_seed(14)
    shop = Catalogue(120, g)
    held = torch.arange(90, 120)
    gallery_ids = held.repeat_interleave(3)
    query_ids = held.repeat_interleave(8)
    gallery_x, query_x = shop.photos(gallery_ids), shop.photos(query_ids)

    model = ShoeEncoder()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for _ in range(steps):
            ids = torch.randint(0, 90, (batch,), generator=g)
            other = (ids + torch.randint(1, 90, (batch,), generator=g)) % 90
            a, p, n = (model(shop.photos(i)) for i in (ids, ids, other))
            loss = F.triplet_margin_loss(a, p, n, margin=margin)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        gallery = embed(model, gallery_x)
        r1 = recall_at_1(embed(model, query_x), query_ids, gallery, gallery_ids)
        print(f"epoch {epoch} triplet {total / steps:.4f} recall@1 on unseen shoes {r1:.3f}")


if __name__ == "__main__":
    main()
