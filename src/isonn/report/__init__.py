"""Pages and pictures from stored results and explanations."""
