"""What a reader can take along: Markdown, notebooks, llms.txt, the whole book offline and as a PDF."""
