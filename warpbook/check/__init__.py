"""What can be checked of the pages, and of the built site."""
