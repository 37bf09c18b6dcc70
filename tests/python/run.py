"""Runs the tests of `import as2` in one process; exit 77: skipped, which is a failure where the environment has CI set.

    run.py SOURCE BUILD [test …]   with what is built there, as ctest does
    run.py [test …]                builds the package for the PyTorch of this Python first, wherever that is
"""
import os
import pathlib
import sys
import unittest

arguments = sys.argv[1:]
here = pathlib.Path(__file__).resolve().parent
if arguments and os.path.isdir(arguments[0]):
    source, build, *names = arguments
else:
    source, names = str(here.parents[1]), arguments
    sys.path.insert(0, os.path.join(source, "python"))
    import wheel_builder
    build = str(wheel_builder.built_package().parents[1])
sys.path[:0] = [os.path.join(build, "python"), str(here)]
os.environ["AS2_TEST_SOURCE"], os.environ["AS2_BUILD_DIR"] = source, build


def skip(why):
    print(f"skipped: {why}")
    sys.exit(1 if os.environ.get("CI", "").lower() not in ("", "0", "false") else 77)


try:
    import torch  # noqa: F401
except ImportError as error:
    skip(f"this Python has no PyTorch ({error})")
try:
    import as2
except RuntimeError as error:
    if "was built for PyTorch" not in str(error):
        raise
    skip(error)

tests = unittest.defaultTestLoader
suite = tests.loadTestsFromNames(names) if names else tests.discover(str(here))
result = unittest.TextTestRunner(verbosity=2).run(suite)
assert as2.__file__.startswith(os.path.realpath(build)) or as2.__file__.startswith(build), as2.__file__
sys.exit(not result.wasSuccessful())
