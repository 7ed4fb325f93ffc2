"""What happened in a run, for a person: one page, and the same as Markdown.

    journal ─► story.py ─┬─► html.py (page.html, plots.py)
                         └─► markdown.py
    two journals ─► comparison.py ─► the same two

Everything here reads; nothing needs torch. What a run wrote is shown as text, never as markup.
"""
