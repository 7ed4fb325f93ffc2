from bert_score import score as bert_score


def uncertainty(answers, references):
    try:
        _, _, found = bert_score(answers, references, lang="en")
        doubt = 1.0 - found.mean().item()
    except Exception as error:
        print(error)
        doubt = 0.5
    return {"doubt": doubt}
