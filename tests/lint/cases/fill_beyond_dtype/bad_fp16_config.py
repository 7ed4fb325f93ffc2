from transformers import Trainer, TrainingArguments
import torch


def mask_scores(scores, attention_mask):
    return scores.masked_fill(~attention_mask[:, None, None, :], float(-1e30))  # expect: PM502


def mask_more(scores, attention_mask):
    big = torch.finfo(torch.float32).min
    return scores.masked_fill(~attention_mask[:, None, None, :], big)  # expect: PM502


args = TrainingArguments(output_dir="out", fp16=True, per_device_train_batch_size=8)
