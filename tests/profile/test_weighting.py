from premortem.profile.weighting import grows, misplaced

COUNTS = (860, 80, 40, 20)


def beside(weights):
    return list(zip(COUNTS, weights, strict=True))


def test_the_inverse_of_the_counts_in_another_order():
    weights = [250 / count for count in COUNTS]
    assert not misplaced(beside(weights))
    moved = [weights[3], weights[1], weights[0], weights[2]]
    assert misplaced(beside(moved))
    assert not grows(beside(moved)), "neither along the counts nor against them"


def test_roots_of_the_counts_and_rounded_weights():
    weights = [round(30 / count**0.5, 1) for count in COUNTS]
    assert not misplaced(beside(weights))
    assert misplaced(beside([weights[2], weights[0], weights[3], weights[1]]))


def test_weights_that_follow_another_thought_are_left_alone():
    assert not misplaced(beside([1.0, 5.0, 1.0, 2.0]))  # what a mistake costs
    assert not misplaced(beside([1.0, 1.0, 1.0, 1.0]))
    assert not misplaced([(300, 1.0), (290, 3.0), (310, 2.0)])  # classes that are as frequent
    assert not misplaced([(900, 0.5), (100, 9.0)])
