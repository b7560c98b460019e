"""Running: which steps are due, what they depend on, papermill and nbval."""
