"""A plan followed forward on a graph, in the model or in another world: what planners and scores both read."""
