"""The one exception for everything that a user can correct."""


class InputError(ValueError):
    """Bad input: one clear line that names the file, the line and the fault.

    The command line prints the message without a traceback and ends with exit code 2.
    """
