"""What a problem is: its records, its rules, and whether it keeps them."""
