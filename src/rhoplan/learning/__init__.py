"""From a table of past cases and a price list to a problem, and to what its policy costs on cases it has not seen."""
