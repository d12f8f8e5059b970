"""The one exception for anything a user can put right."""


class InputError(ValueError):
    """Bad input: one clear line that names the file, the line and the fault.

    The command line prints the message and leaves with exit code 2, without a traceback.
    """
