"""Models of the transformers library, from their configurations; nothing is downloaded."""

from __future__ import annotations

import torch

from fit_models import config
from fit_models.language import tokens
from fit_models.steps import images, labels, train


@config(4, limit=8)
def hub_gpt2_fp32(batch):
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=6)).cuda().train()
    ids = tokens(batch, 512, 50257)
    return train(
        model, lambda: model(input_ids=ids, labels=ids).loss, torch.optim.AdamW(model.parameters(), lr=1e-4)
    )


@config(16, held_out=True, limit=5)
def hub_bert_fp16_scaler(batch):
    from transformers import BertConfig, BertForMaskedLM

    model = BertForMaskedLM(BertConfig(num_hidden_layers=6)).cuda().train()
    ids = tokens(batch, 256, 30522)
    mask = torch.ones_like(ids)
    loss = lambda: model(input_ids=ids, attention_mask=mask, labels=ids).loss
    return train(model, loss, torch.optim.AdamW(model.parameters()), amp=torch.float16, scaler=True, clip=1.0)


@config(2)
def hub_llama_checkpointed_adafactor(batch):
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {
        "hidden_size": 1024,
        "intermediate_size": 2816,
        "num_hidden_layers": 8,
        "num_attention_heads": 16,
    }
    model = LlamaForCausalLM(LlamaConfig(**sizes, num_key_value_heads=4, vocab_size=32000, use_cache=False))
    model = model.to(torch.bfloat16).cuda().train()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    ids = tokens(batch, 1024, 32000)
    optimizer = torch.optim.Adafactor(model.parameters(), lr=1e-3)
    return train(model, lambda: model(input_ids=ids, labels=ids).loss, optimizer)


@config(8, held_out=True)
def hub_t5_fp32(batch):
    from transformers import T5Config, T5ForConditionalGeneration

    model = (
        T5ForConditionalGeneration(T5Config(num_layers=4, use_cache=False, decoder_start_token_id=0))
        .cuda()
        .train()
    )
    ids, out = tokens(batch, 256, 32000), tokens(batch, 64, 32000)
    return train(
        model,
        lambda: model(input_ids=ids, labels=out).loss,
        torch.optim.AdamW(model.parameters(), fused=True),
    )


@config(16, held_out=True)
def hub_vit_bf16(batch):
    from transformers import ViTConfig, ViTForImageClassification

    model = ViTForImageClassification(ViTConfig(num_hidden_layers=6, num_labels=100)).cuda().train()
    x, y = images(batch, 224), labels(batch, 100)
    loss = lambda: model(pixel_values=x, labels=y).loss
    return train(model, loss, torch.optim.AdamW(model.parameters()), amp=torch.bfloat16)
