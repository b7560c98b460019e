# @title Run this cell first: it compares the examples
import numpy as np


def example(function, *arguments, expected):
    """Say whether a call gives what is expected. Worth no points."""
    name = function.__name__
    try:
        found = function(*arguments)
    except NotImplementedError:
        print(f"{name}: not written yet")
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}")
        print(f"    expected {expected}")
    else:
        if agree(found, expected):
            print(f"{name}: as expected")
        else:
            print(f"{name}: expected {expected}")
            print(f"    your function gives {found}")


def agree(found, expected):
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and found.keys() == expected.keys()
            and all(agree(found[key], expected[key]) for key in found)
        )
    if expected is None or isinstance(expected, str):
        return found == expected
    try:
        found = np.asarray(found, dtype=float)
    except (TypeError, ValueError):
        return False
    wanted = np.asarray(expected, dtype=float)
    if found.shape != wanted.shape:
        return False
    return np.allclose(found, wanted, atol=1e-6, equal_nan=True)
