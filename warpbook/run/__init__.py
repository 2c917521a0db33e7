"""Run a page's blocks or a program, and say whether two outputs are the same."""
