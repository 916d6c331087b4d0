"""`python -m rhoplan` is the command line."""

from rhoplan.app.cli import main

if __name__ == "__main__":
    main()
