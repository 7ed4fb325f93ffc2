from premortem.lint.rule import Card, Severity
from premortem.lint.rules.softmax_into_cross_entropy import AppliedTwice


class SigmoidIntoBceWithLogits(AppliedTwice):
    """The model already returns probabilities, and the loss applies a sigmoid to them once more.

    ## Why it matters
    Sigmoid of a number between 0 and 1 lies between 0.5 and 0.73: the loss cannot fall below 0.31 for positives and
    0.69 for negatives, whatever the model learns. Nothing crashes.

    ## Usual causes
    `nn.Sigmoid` as the last layer together with `BCEWithLogitsLoss`, which expects raw scores; a change from
    `BCELoss` to the other one on one side only.

    ## What to do
    Return raw scores and keep `BCEWithLogitsLoss`, which is also the numerically safe choice.

    ## When it stays silent
    Unless every way to the value is known and ends in a sigmoid (or softmax).
    """

    card = Card("PM518", "sigmoid-into-bce-with-logits", "loss-definition", Severity.ERROR)
    triggers = (b"BCEWithLogitsLoss", b"cross_entropy_with_logits")
    functions = frozenset(("torch.nn.functional.binary_cross_entropy_with_logits",))
    layers = frozenset(("torch.nn.BCEWithLogitsLoss",))
    applies = "this loss applies a sigmoid again"
