"""Exercises: their folders, the reader's answers in my/, verdicts and progress.  docs/developers/exercises.md"""
