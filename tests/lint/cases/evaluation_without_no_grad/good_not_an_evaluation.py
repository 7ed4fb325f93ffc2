import torch


def test_forward(model, loader):
    for x in loader:
        assert model(x).shape[0] == x.shape[0]


def evaluate_expression(function, values):
    return [function(value) for value in values]


def validate_config(check, options):
    for option in options:
        check(option)


def load_eval_data(tokenizer, dataset):
    rows = []
    for text in dataset:
        rows.append(tokenizer(text))
    return rows
