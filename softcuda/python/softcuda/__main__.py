"""`python -m softcuda` is the `softcuda` command."""

import sys

from softcuda._cli import main

sys.exit(main())
