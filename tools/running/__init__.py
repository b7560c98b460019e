"""Running: papermill and nbval, and what becomes of their outputs."""
