"""Templates over chosen regions, for graphs on the same nodes such as connectomes."""
