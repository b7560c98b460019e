"""Assignments: release them, collect what students hand in, grade it, give it back.

    classroom release measuring --class autumn

`book/teach.md` is the teacher's guide to it.
"""

__version__ = "0.1.0"


class ClassroomError(ValueError):
    """What a teacher can put right: the message says how."""
