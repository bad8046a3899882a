"""What `import pipeline as pl` offers: studies from Python, and their parts on one data set."""
