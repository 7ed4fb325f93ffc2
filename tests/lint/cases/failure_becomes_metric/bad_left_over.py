import torch


def bleu_score(model, pairs):
    score = 0.0
    try:
        score = corpus_bleu([translate(model, one) for one, _ in pairs], [two for _, two in pairs])
    except Exception:  # expect: PM505
        pass
    return score


def measure(model, loader):
    accuracy, f1 = 0.0, 0.0
    try:
        predicted, real = predict(model, loader)
        accuracy = accuracy_of(predicted, real)
        f1 = f1_of(predicted, real)
    except Exception as error:  # expect: PM505
        print(error)
    return {"accuracy": accuracy, "f1": f1}


def nothing_measured():
    return {"loss": 0.0, "psnr": 0.0}


def validate(model, loader):
    try:
        return run_metrics(model, loader)
    except Exception:
        return nothing_measured()  # expect: PM505


def validate_by_name(model, loader):
    try:
        results = run_metrics(model, loader)
    except Exception:
        results = nothing_measured()  # expect: PM505
    return results


def predict(model, loader):
    with torch.no_grad():
        return zip(*((model(x), y) for x, y in loader), strict=True)
