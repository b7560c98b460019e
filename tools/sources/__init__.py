"""The sources: chapters in MyST Markdown, read, checked and made into notebooks."""
