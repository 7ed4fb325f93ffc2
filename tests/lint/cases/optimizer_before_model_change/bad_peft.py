import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM


def finetune(name, loader):
    model = AutoModelForCausalLM.from_pretrained(name)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model = get_peft_model(model, LoraConfig(r=8))  # expect: PM539
    for batch in loader:
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
