"""The paper's claims in words, each with a function that computes its verdict."""
