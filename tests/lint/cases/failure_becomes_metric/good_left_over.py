import math

import torch


def honest(model, pairs):
    score = math.nan
    try:
        score = corpus_bleu(model, pairs)
    except Exception:
        pass
    return score


def not_given_back(model, pairs):
    score = 0.0
    try:
        score = corpus_bleu(model, pairs)
        print(score)
    except Exception:
        pass
    return model


def raises(model, pairs):
    score = 0.0
    try:
        score = corpus_bleu(model, pairs)
    except Exception:
        print("no score")
        raise
    return score


def set_again(model, pairs):
    loss = 0.0
    try:
        loss = compute(model, pairs)
    except Exception:
        loss = None
    return loss


def looked_up(state):
    best_loss = 0.0
    try:
        best_loss = float(state["best_loss"])
    except Exception:
        pass
    return best_loss


def one_error(model, pairs):
    accuracy = 0.0
    try:
        accuracy = compute(model, pairs)
    except ZeroDivisionError:
        pass
    return accuracy


def nothing():
    return {"loss": math.nan}


def honest_helper(model, loader):
    try:
        return run_metrics(model, loader)
    except Exception:
        return nothing()


def corpus_bleu(model, pairs):
    return float(torch.stack([model(one) for one, _ in pairs]).mean())
