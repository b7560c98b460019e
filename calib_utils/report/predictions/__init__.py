"""What the report on anyone's predictions is made of; `calib_utils.report.report` joins it."""
