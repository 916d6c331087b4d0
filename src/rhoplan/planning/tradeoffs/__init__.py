"""Plans measured by several numbers at once: what tests cost, which errors are left, what one is worth in the other."""
