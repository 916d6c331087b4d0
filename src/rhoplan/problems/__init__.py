"""The problems that ship with rhoplan."""
