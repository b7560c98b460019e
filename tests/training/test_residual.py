"""The residual block; in its networks, see `test_networks`."""

import torch

from calib_utils.training.residual import ResidualBlock


def test_shortcut_takes_every_second_pixel_and_adds_zeros():
    block = ResidualBlock(2, 4, stride=2, batch_norm=False, blocks=3)  # its branch is zero
    x = torch.rand(1, 2, 4, 4)
    expected = torch.cat([x[:, :, ::2, ::2], torch.zeros(1, 2, 2, 2)], dim=1)
    assert block(x).equal(expected)
