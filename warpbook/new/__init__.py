"""Starting a new article."""
