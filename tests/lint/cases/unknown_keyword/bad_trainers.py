import pytorch_lightning as pl
from accelerate import Accelerator
from transformers import Trainer, TrainingArguments


def main(model, dataset):
    trainer = pl.Trainer(max_epochs=3, gpus=1)  # expect: PM580
    accelerator = Accelerator(mixed_precission="fp16")  # expect: PM580
    args = TrainingArguments(output_dir="out", evaluation_strategy="epoch")  # expect: PM580
    other = Trainer(model=model, args=args, train_data=dataset)  # expect: PM580
    return trainer, accelerator, other
