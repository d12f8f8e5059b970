"""The command line: one module for each command, with its arguments and its call."""
