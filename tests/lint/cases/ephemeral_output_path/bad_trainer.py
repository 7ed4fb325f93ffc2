from transformers import Trainer, TrainingArguments


def finetune(model, data):
    arguments = TrainingArguments(output_dir="/content/results", num_train_epochs=3)  # expect: PM544
    Trainer(model=model, args=arguments, train_dataset=data).train()
