"""The third set, for text, sound, graphs and equations: written after the first two were measured, and never tuned on."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from fit_models import config
from fit_models.language import tokens
from fit_models.steps import train


@config(32, fresh=True, limit=6)
def masked_language_model_bf16(batch):
    """Only the masked positions go through the head."""
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, norm_first=True, activation="gelu")
    model = nn.ModuleDict({
        "words": nn.Embedding(30000, 512), "places": nn.Embedding(256, 512),
        "body": nn.TransformerEncoder(layer, 6, enable_nested_tensor=False), "head": nn.Linear(512, 30000),
    }).cuda()  # fmt: skip
    ids, places = tokens(batch, 256, 30000), torch.arange(256, device="cuda")

    def loss():
        masked = torch.rand(ids.shape, device="cuda") < 0.15
        h = model["body"](model["words"](ids.masked_fill(masked, 0)) + model["places"](places))
        return F.cross_entropy(model["head"](h[masked]), ids[masked])

    return train(model, loss, torch.optim.AdamW(model.parameters(), lr=1e-4), amp=torch.bfloat16, clip=1.0)


class Causal(nn.Module):
    """Attention written out, with a slope for each head instead of positions."""

    def __init__(self, width, heads, length):
        super().__init__()
        self.heads, self.n1, self.n2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        near = torch.arange(length)[None] - torch.arange(length)[:, None]
        slopes = 2.0 ** -torch.arange(1, heads + 1)
        self.register_buffer("bias", slopes[:, None, None] * near)
        self.register_buffer("future", near > 0)

    def forward(self, x):
        b, t, c = x.shape
        y = self.n1(x)
        q, k, v = (part(y).view(b, t, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        score = q @ k.transpose(-1, -2) / (c // self.heads) ** 0.5 + self.bias
        score = F.dropout(score.masked_fill(self.future, float("-inf")).softmax(-1), 0.1, self.training)
        x = x + self.o((score @ v).transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.n2(x))


@config(8, fresh=True, limit=7)
def decoder_written_out_fp32(batch):
    words, head = nn.Embedding(8000, 384), nn.Linear(384, 8000, bias=False)
    model = nn.Sequential(words, *[Causal(384, 6, 512) for _ in range(4)], nn.LayerNorm(384), head).cuda()
    head.weight = words.weight
    ids = tokens(batch, 513, 8000)
    loss = lambda: F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    return train(model, loss, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), accumulate=2)


class Swish(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.n1, self.n2 = heads, nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.o = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 6 * width, bias=False), nn.Linear(3 * width, width, bias=False)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, c))
        a, g = self.up(self.n2(x)).chunk(2, -1)
        return x + self.down(a * F.silu(g))


@config(4, fresh=True, limit=6)
def decoder_every_second_checkpointed(batch):
    words, head = nn.Embedding(32000, 768), nn.Linear(768, 32000, bias=False)
    blocks = nn.ModuleList(Swish(768, 12) for _ in range(8))
    model = nn.ModuleList([words, blocks, head]).cuda()
    ids = tokens(batch, 1025, 32000)

    def loss():
        x = words(ids[:, :-1])
        for n, block in enumerate(blocks):
            x = checkpoint(block, x, use_reentrant=False) if n % 2 else block(x)
        return F.cross_entropy(head(x).float().flatten(0, 1), ids[:, 1:].flatten())

    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    return train(model, loss, optimizer, amp=torch.bfloat16, accumulate=2, clip=1.0)


class LoopOfExperts(nn.Module):
    """Each token goes to its best two; one expert after the other takes its tokens."""

    def __init__(self, width, experts, hidden):
        super().__init__()
        self.norm, self.router = nn.LayerNorm(width), nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, hidden), nn.SiLU(), nn.Linear(hidden, width))
            for _ in range(experts)
        )

    def forward(self, x):
        flat = self.norm(x).flatten(0, 1)
        weight, chosen = self.router(flat).softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(flat)
        for n, expert in enumerate(self.experts):
            token, place = torch.where(chosen == n)
            if token.numel() == 0:
                continue
            out.index_add_(0, token, (expert(flat[token]) * weight[token, place, None]).to(out.dtype))
        return x + out.view_as(x)


@config(8, fresh=True, limit=6)
def experts_in_a_loop_bf16(batch):
    words, head = nn.Embedding(16000, 512), nn.Linear(512, 16000)
    model = nn.Sequential(words, *[LoopOfExperts(512, 8, 2048) for _ in range(4)], head).cuda()
    ids = tokens(batch, 513, 16000)
    loss = lambda: F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    return train(model, loss, torch.optim.AdamW(model.parameters()), amp=torch.bfloat16)


class SortedExperts(nn.Module):
    """Tokens in the order of their expert, cut where the next one begins."""

    def __init__(self, width, experts, hidden):
        super().__init__()
        self.router = nn.Linear(width, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
            for _ in range(experts)
        )

    def forward(self, x):
        flat = x.flatten(0, 1)
        best, chosen = self.router(flat).softmax(-1).max(-1)
        order = chosen.argsort()
        counts = torch.bincount(chosen, minlength=len(self.experts)).tolist()
        made = [expert(part) for expert, part in zip(self.experts, flat[order].split(counts))]
        out = torch.zeros_like(flat).index_copy(0, order, torch.cat(made))
        return x + (out * best[:, None]).view_as(x)


@config(16, fresh=True)
def experts_sorted_adafactor_fp32(batch):
    words, head = nn.Embedding(8000, 384), nn.Linear(384, 8000)
    model = nn.Sequential(words, *[SortedExperts(384, 4, 1536) for _ in range(3)], head).cuda()
    ids = tokens(batch, 257, 8000)
    loss = lambda: F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    return train(model, loss, torch.optim.Adafactor(model.parameters()))


@config(64, fresh=True)
def translation_with_cells_adagrad(batch):
    """A GRU reads, a cell writes word by word and looks back."""
    model = nn.ModuleDict({
        "in": nn.Embedding(8000, 256), "out": nn.Embedding(8000, 256), "read": nn.GRU(256, 256, batch_first=True, bidirectional=True),
        "write": nn.LSTMCell(256 + 512, 512), "head": nn.Linear(1024, 8000),
    }).cuda()  # fmt: skip
    source, target = tokens(batch, 40, 8000), tokens(batch, 31, 8000)

    def loss():
        read, _ = model["read"](model["in"](source))
        h = c = read.new_zeros(batch, 512)
        seen, said = read.mean(1), []
        for n in range(30):
            h, c = model["write"](torch.cat([model["out"](target[:, n]), seen], 1), (h, c))
            look = (read @ h.unsqueeze(-1)).softmax(1)
            seen = (look * read).sum(1)
            said.append(model["head"](torch.cat([h, seen], 1)))
        return F.cross_entropy(torch.stack(said, 1).flatten(0, 1), target[:, 1:].flatten())

    return train(model, loss, torch.optim.Adagrad(model.parameters(), lr=0.05), clip=5.0)


@config(16, fresh=True, limit=4)
def speech_lstm_fp16_scaler(batch):
    """Strided convolutions, then a deep LSTM in both directions."""
    front = nn.Sequential(
        nn.Conv1d(80, 256, 5, 2, 2), nn.BatchNorm1d(256), nn.ReLU(), nn.Conv1d(256, 256, 5, 2, 2), nn.ReLU()
    )
    rnn, head = nn.LSTM(256, 320, 3, batch_first=True, bidirectional=True, dropout=0.1), nn.Linear(640, 64)
    model = nn.ModuleList([front, rnn, head]).cuda()
    x, y = torch.randn(batch, 80, 1200, device="cuda"), torch.randint(0, 64, (batch, 300), device="cuda")

    def loss():
        h, _ = rnn(front(x).transpose(1, 2))
        return F.cross_entropy(head(h).flatten(0, 1), y.flatten())

    return train(model, loss, torch.optim.RAdam(model.parameters()), amp=torch.float16, scaler=True)


class Messages(nn.Module):
    """Along each edge a small network speaks; the node hears the largest."""

    def __init__(self, width):
        super().__init__()
        self.speak = nn.Sequential(nn.Linear(2 * width + 16, width), nn.ReLU(), nn.Linear(width, width))
        self.hear, self.norm = nn.GRUCell(width, width), nn.BatchNorm1d(width)

    def forward(self, x, edges, kinds):
        source, target = edges
        said = self.speak(torch.cat([x[source], x[target], kinds], 1))
        index = target[:, None].expand_as(said)
        heard = torch.zeros_like(x).scatter_reduce(0, index, said, "mean", include_self=False)
        return self.norm(self.hear(heard, x))


@config(20000, fresh=True, limit=3)
def message_passing_scatter_fp32(batch):
    layers, head = nn.ModuleList(Messages(96) for _ in range(3)), nn.Linear(96, 10)
    model = nn.ModuleList([layers, head]).cuda()
    x, edges = torch.randn(batch, 96, device="cuda"), torch.randint(0, batch, (2, 6 * batch), device="cuda")
    kinds, y = torch.randn(6 * batch, 16, device="cuda"), torch.randint(0, 10, (batch,), device="cuda")

    def loss():
        h = x
        for layer in layers:
            h = layer(h, edges, kinds)
        return F.cross_entropy(head(h), y)

    return train(model, loss, torch.optim.AdamW(model.parameters()))


@config(8192, fresh=True)
def physics_informed_lbfgs(batch):
    """The loss contains second derivatives of the network."""
    sizes = (2, 256, 256, 256, 256, 1)
    parts = [m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), nn.Tanh())]
    model = nn.Sequential(*parts[:-1]).cuda()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=5, history_size=8)
    points = torch.rand(batch, 2, device="cuda", requires_grad=True)

    def closure():
        optimizer.zero_grad()
        u = model(points)
        (first,) = torch.autograd.grad(u.sum(), points, create_graph=True)
        (second,) = torch.autograd.grad(first[:, 0].sum(), points, create_graph=True)
        loss = (first[:, 1:] + u * first[:, :1] - 0.01 * second[:, :1]).pow(2).mean()
        loss.backward()
        return loss

    return lambda: optimizer.step(closure)


@config(4, fresh=True, limit=8)
def hub_qwen_accumulated_bf16(batch):
    from transformers import Qwen2Config, Qwen2ForCausalLM

    shape = Qwen2Config(
        hidden_size=768, intermediate_size=2304, num_hidden_layers=6, num_attention_heads=12,
        num_key_value_heads=4, vocab_size=48000, use_cache=False,
    )  # fmt: skip
    model = Qwen2ForCausalLM(shape).cuda().train()
    ids = tokens(batch, 768, 48000)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    loss = lambda: model(input_ids=ids, labels=ids).loss
    return train(model, loss, optimizer, amp=torch.bfloat16, accumulate=2, clip=1.0)


@config(16, fresh=True)
def hub_distilbert_classifier_fp32(batch):
    from transformers import DistilBertConfig, DistilBertForSequenceClassification

    model = DistilBertForSequenceClassification(DistilBertConfig(n_layers=4, num_labels=3)).cuda().train()
    ids, y = tokens(batch, 192, 30522), torch.randint(0, 3, (batch,), device="cuda")
    mask = torch.ones_like(ids)
    loss = lambda: model(input_ids=ids, attention_mask=mask, labels=y).loss
    return train(model, loss, torch.optim.AdamW(model.parameters(), lr=5e-5, foreach=False))
