"""The merged belief graph, and the one tie rule."""
