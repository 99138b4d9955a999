"""The paper's model: templates matched against windows of the adjacency matrix."""
