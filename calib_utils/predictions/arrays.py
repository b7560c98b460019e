"""Arrays of any library, as NumPy has them, and back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np


def is_tensor(x: Any) -> bool:
    """Whether ``x`` is a torch tensor. Where there is a tensor, torch has been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def plain_array(x: Any, name: str) -> np.ndarray:
    """The numbers, texts or other values of ``x`` as a NumPy array, without a copy if possible.

    Args:
        x: a NumPy array, a list, or a torch tensor on any device, with or without a
            gradient. bfloat16, which NumPy does not have, becomes float32.
        name: the name of ``x`` in the error.

    Raises:
        ValueError: if ``x`` is not a rectangle, is masked, or can be read only once; or is a tensor
            that NumPy cannot represent, such as a sparse one or one of 8-bit floats.
    """
    if is_tensor(x):
        try:
            x = x.detach().cpu().resolve_conj().resolve_neg()
            x = (x.float() if dtype_name(x) == "bfloat16" else x).numpy()
        except (NotImplementedError, RuntimeError, TypeError) as error:
            raise ValueError(
                f"{name}: found a tensor of {dtype_name(x)} in layout {x.layout} on "
                f"{x.device.type}; convert it with to_dense() and float()"
            ) from error
    if isinstance(x, Iterator):
        raise ValueError(
            f"{name}: found {type(x).__name__}, which can be read only once; give an array, or if "
            "it does not fit in memory np.load(path, mmap_mode='r'), which is read in blocks"
        )
    parts = x if isinstance(x, (list, tuple)) else [x]
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise ValueError(f"{name}: found masked entries; leave them out, e.g. with compressed()")
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"{name}: found rows of unequal length; make them equally long") from error
    except (RuntimeError, TypeError) as error:  # such as from a list of tensors on a GPU
        raise ValueError(f"{name}: found {type(x).__name__}, {error}; give an array") from error
    if array.dtype.name == "bfloat16":  # of ml_dtypes
        return array.astype(np.float32)
    return array.astype(object) if array.dtype.kind == "T" else array  # StringDType


def to_numpy(x: Any, name: str, advice: str = "convert them first") -> np.ndarray:
    """The numbers of ``x`` as a NumPy array.

    Args:
        x: as `plain_array` takes it.
        name: the name of ``x`` in the error.
        advice: what to do about values that are not numbers.

    Raises:
        ValueError: as `plain_array` does, or if ``x`` has anything but numbers or booleans.
    """
    array = plain_array(x, name)
    if array.dtype == object and hasattr(x, "iloc"):
        array = _of_nullable(x, array, name)
    if array.dtype.kind not in "biuf":
        found = type(x).__name__ if array.ndim == 0 else array.dtype
        raise ValueError(f"{name}: expected real numbers, found {found}; {advice}")
    return array


def _of_nullable(x: Any, array: np.ndarray, name: str) -> np.ndarray:
    """The numbers of pandas' types that allow missing values, such as Float32."""
    types = [getattr(each, "numpy_dtype", each) for each in np.ravel(np.array(x.dtypes, object))]
    if not all(isinstance(each, np.dtype) and each.kind in "biuf" for each in types):
        return array
    if np.asarray(x.isna()).any():
        raise ValueError(f"{name}: found values that are missing; leave such samples out")
    return np.asarray(x.to_numpy(np.result_type(*types)))


def dtype_name(x: Any) -> str:
    """The original type of the numbers in ``x``: "float64", "bfloat16", "int32", ..."""
    if is_tensor(x):
        return str(x.dtype).removeprefix("torch.")
    return np.asarray(x).dtype.name


def in_type(values: np.ndarray, dtype: str) -> Any:
    """The numbers in a type; of bfloat16 a tensor, because NumPy has it only with ml_dtypes."""
    if dtype != "bfloat16" or "torch" not in sys.modules:
        return values.astype(dtype)
    return sys.modules["torch"].from_numpy(values.astype(np.float32)).bfloat16()


def like(result: np.ndarray, template: Any, cast: bool = False) -> Any:
    """``result`` as the same kind of array as ``template``.

    Args:
        result: any NumPy array.
        template: a torch tensor, a NumPy array or a list.
        cast: whether the numbers are also cast to the type of those in ``template``.

    Returns:
        A torch tensor on the template's device if that is a tensor, else a NumPy array.
    """
    if not is_tensor(template):
        return result.astype(np.asarray(template).dtype, copy=False) if cast else result
    tensor = sys.modules["torch"].from_numpy(np.asarray(result, order="C"))
    if cast:
        tensor = tensor.to(template.dtype)
    elif template.device.type == "mps" and result.dtype == np.float64:
        tensor = tensor.float()  # Apple's GPUs have no float64
    return tensor.to(template.device)
