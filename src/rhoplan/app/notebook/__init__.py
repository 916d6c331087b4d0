"""rhoplan in a notebook: the commands as functions, whose results show themselves, become frames, and draw plots."""
