"""Small tools that turn the sources in `notebooks/` and `book/` into the book."""
