"""Small convolutions, against those of torch."""

import copy

import pytest
import torch
from torch import nn

from calib_utils.training.small_convolutions import Conv3x3, speed_up_small_convolutions


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 2), (2, 1), (3, 3)])
def test_small_convolutions_give_what_torch_gives(shape, stride):
    torch.manual_seed(0)
    reference = nn.Conv2d(5, 7, 3, stride, padding=1, bias=False).double()
    quick = speed_up_small_convolutions(copy.deepcopy(reference))
    assert type(quick) is Conv3x3
    inputs = [torch.randn(4, 5, *shape, dtype=torch.double, requires_grad=True)]
    inputs.append(inputs[0].detach().clone().requires_grad_())
    outputs = [layer(x) for layer, x in zip((reference, quick), inputs, strict=True)]
    torch.testing.assert_close(*outputs)
    for y in outputs:
        y.square().sum().backward()
    torch.testing.assert_close(*(x.grad for x in inputs))
    torch.testing.assert_close(reference.weight.grad, quick.weight.grad)


def test_other_convolutions_stay_as_they_are():
    others = [
        nn.Conv2d(4, 4, 5, padding=2, bias=False),
        nn.Conv2d(4, 4, 3, padding=1),
        nn.Conv2d(4, 4, 3, bias=False),
        nn.Conv2d(4, 4, 3, padding=1, groups=2, bias=False),
    ]
    model = speed_up_small_convolutions(nn.Sequential(*others))
    assert {type(layer) for layer in model} == {nn.Conv2d}
