"""python -m bayestopics.cli"""

import sys

from bayestopics.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
