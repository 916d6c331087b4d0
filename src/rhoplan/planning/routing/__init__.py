"""Problems with sites to visit: decomposition by hidden factor, and the value of a tour as leaf of a look-ahead."""
