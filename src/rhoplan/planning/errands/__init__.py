"""Planning where there are places and errands: what a tour is worth, and a leaf made of it."""
