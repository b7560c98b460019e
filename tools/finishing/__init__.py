"""Finishing: from executed notebooks to the built site, and looks at it."""
