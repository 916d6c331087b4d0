"""The plan to carry away: one interactive file, and a card of one page."""
