"""Runs the tests of `import as2` in one process; exit 77: skipped, which is a failure where the environment has CI set.

    run.py SOURCE BUILD [test …]   with what is built there, as ctest does
    run.py [test …]                builds the package for the PyTorch of this Python first, wherever that is

Tests that need gringo are skipped where there is none, unless CI is set. The last lines say what was run on what, and what
failed or was left out. A test that takes five minutes has its stack printed, and goes on.
"""
import collections
import faulthandler
import os
import pathlib
import sys
import unittest

arguments = sys.argv[1:]
here = pathlib.Path(__file__).resolve().parent
in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
if arguments and os.path.isdir(arguments[0]):
    source, build, *names = arguments
else:
    source, names = here.parents[1], arguments
    sys.path.insert(0, os.path.join(source, "python"))
    import wheel_builder
    build = wheel_builder.built_package().parents[1]
source, build = os.path.abspath(source), os.path.abspath(build)
sys.path[:0] = [os.path.join(build, "python"), str(here)]
os.environ["AS2_TEST_SOURCE"], os.environ["AS2_BUILD_DIR"] = source, build
os.environ.setdefault("DNNL_MAX_CPU_ISA", "AVX512_CORE_BF16")  # as in every test on LibTorch: tests/CMakeLists.txt
for variable, built in (("AS2_BINARY", "bin/as2"), ("AS2_EXPECTED", "tests/python/python_expected")):
    if os.path.exists(os.path.join(build, built)):
        os.environ.setdefault(variable, os.path.join(build, built))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(1 if in_ci else 77)


try:
    import torch
except ImportError as error:
    skip(f"this Python has no PyTorch ({error})")
try:
    import as2
except RuntimeError as error:
    if "was built for PyTorch" not in str(error):
        raise
    skip(error)
from support import WITHOUT_GRINGO  # noqa: E402 (support imports as2)


class Result(unittest.TextTestResult):
    """As unittest's own, but for what needs gringo where there is none, and for tests that hang."""

    def startTest(self, test):
        faulthandler.dump_traceback_later(300)
        super().startTest(test)

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        super().stopTest(test)

    def addError(self, test, error):
        if self._lacks_gringo(error):
            self.addSkip(test, "needs gringo")
        else:
            super().addError(test, error)

    def addSubTest(self, test, subtest, error):
        if error is not None and self._lacks_gringo(error):
            self.addSkip(subtest, "needs gringo")
        else:
            super().addSubTest(test, subtest, error)

    @staticmethod
    def _lacks_gringo(error):
        return WITHOUT_GRINGO and "gringo cannot be found" in str(error[1])


def told(result):
    """What was run on what, and what failed or was left out."""
    cuda = f"CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}" if torch.cuda.is_available() else "no CUDA device"
    yield f"Python {sys.version.split()[0]}, PyTorch {torch.__version__}, {cuda}; {as2.__file__}"
    failed = [str(test) for test, _ in result.errors + result.failures] + [str(test) for test in result.unexpectedSuccesses]
    yield from (f"failed: {test}" for test in failed)
    for why, count in collections.Counter(why for _, why in result.skipped).items():
        yield f"left out: {count}, {why}"
    yield f"{result.testsRun} tests, {len(failed)} failed, {len(result.skipped)} left out"


faulthandler.enable()
tests = unittest.defaultTestLoader
suite = tests.loadTestsFromNames(names) if names else tests.discover(str(here))
result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
assert as2.__file__.startswith((os.path.realpath(build), build)), as2.__file__
print(*told(result), sep="\n")
sys.exit(not result.wasSuccessful())
