"""A page's Markdown as the site shows it."""
