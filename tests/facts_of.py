"""What a test pins of a message: the codes, names and numbers in it, and not the words between them."""

import re


def holds(text, *facts):
    """Whether the text holds these facts in this order, each as whole words."""
    end = 0
    for fact in facts:
        left = r"(?<!\w)" if re.match(r"\w", fact) else ""
        right = r"(?!\w)" if re.search(r"\w$", fact) else ""
        found = re.compile(left + re.escape(fact) + right).search(text, end)
        if found is None:
            return False
        end = found.end()
    return True


def each_holds(texts, *facts):
    """The same for several texts, each with its own facts."""
    return len(texts) == len(facts) and all(holds(text, *own) for text, own in zip(texts, facts, strict=True))
