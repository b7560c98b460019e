"""Assignments: release them, collect what students hand in, grade it, give it back."""
