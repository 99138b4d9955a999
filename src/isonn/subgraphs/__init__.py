"""Templates matched against the connected subgraphs of a graph."""
