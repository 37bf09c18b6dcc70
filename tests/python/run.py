"""Runs the tests of `import as2` in one process. Usage: run.py SOURCE BUILD [test …]; exit 77: skipped."""
import os
import sys
import unittest

source, build, *names = sys.argv[1:]
sys.path[:0] = [os.path.join(build, "python"), os.path.dirname(os.path.abspath(__file__))]
os.environ["AS2_TEST_SOURCE"] = source
try:
    import torch  # noqa: F401
except ImportError as error:
    print(f"skipped: this Python has no PyTorch ({error})")
    sys.exit(77)
try:
    import as2
except RuntimeError as error:
    if "was built for PyTorch" not in str(error):
        raise
    print(f"skipped: {error}")
    sys.exit(77)

tests = unittest.defaultTestLoader
suite = tests.loadTestsFromNames(names) if names else tests.discover(os.path.dirname(os.path.abspath(__file__)))
result = unittest.TextTestRunner(verbosity=2).run(suite)
assert as2.__file__.startswith(os.path.realpath(build)) or as2.__file__.startswith(build), as2.__file__
sys.exit(not result.wasSuccessful())
