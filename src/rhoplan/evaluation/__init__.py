"""How good a policy is: exact evaluation by propagating the distribution over beliefs forward."""
