"""How good an agent is: exact scores, simulation, steps over the weight."""
