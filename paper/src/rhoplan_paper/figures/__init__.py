"""The paper's figures, drawn from numbers computed here."""
