"""Beliefs: the update, information, situations, and drawing from them."""
