"""The sections of pages, one a file."""
