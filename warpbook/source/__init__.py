"""The pages as their authors write them, and what stands beside them in docs/: nothing here has run anything."""
