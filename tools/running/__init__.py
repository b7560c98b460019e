"""Running: which steps are due, what they depend on, papermill and nbval."""

# Names the working tree to all that runs on its snapshot.
ORIGIN = "CALIB_WORKING_TREE"
