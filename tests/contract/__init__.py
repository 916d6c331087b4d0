"""Results that a rebuild of the inside must not change: recorded ones (`golden`) and exact ones (`frozen`)."""
