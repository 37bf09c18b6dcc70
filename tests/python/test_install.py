"""The wheel, pip, what stands in the way of either, and the hints for type checkers."""
import ast
import inspect
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import types
import typing
import unittest
import zipfile
from unittest import mock

import as2
import torch
from as2 import _library
from support import SOURCE, needs_gringo

sys.path.append(str(SOURCE / "python"))  # behind the package that was built
import wheel_builder  # noqa: E402


def pytorch(version, cuda=None, files="/nowhere"):
    """What the wheel's builder asks PyTorch."""
    return types.SimpleNamespace(__version__=version, version=types.SimpleNamespace(cuda=cuda),
                                 utils=types.SimpleNamespace(cmake_prefix_path=str(files)))


class Install(unittest.TestCase):
    def test_the_wheel(self):
        package = pathlib.Path(as2.__file__).parent
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(wheel_builder, "built_package", lambda: package):
            name = wheel_builder.build_wheel(folder)
            with zipfile.ZipFile(pathlib.Path(folder) / name) as wheel:
                names = set(wheel.namelist())
                recorded = {line.split(",")[0] for line in wheel.read(f"as2-{as2.__version__}.dist-info/RECORD").decode().splitlines()}
        self.assertEqual(names, recorded)
        self.assertLessEqual({"as2/__init__.py", "as2/libas2_python.so", "as2/py.typed",
                              "as2/share/as2/programs/sudoku.lp", "as2/share/as2/models/sudoku-best.safetensors"}, names)

    @needs_gringo
    def test_the_page_installs(self):
        # The commands of docs/PYTHON.md as they stand there, in an environment as it says, with what is built already.
        page = (SOURCE / "docs" / "PYTHON.md").read_text(encoding="utf-8")
        commands = re.search(r"## Install\n+```sh\n(.*?)```", page, re.S).group(1)
        create, environment = re.search(r"`(\S*python3 -m venv .*? (\w+))`", page).groups()
        self.assertEqual(len(re.findall(r"^\./as2 python|^pip install --no-build-isolation \. ", commands, re.M)), 3)
        # The reader calls ./as2; the test calls what it starts, and builds nothing.
        commands = commands.replace("./as2 python", f"PYTHONPATH='{os.environ['AS2_BUILD_DIR']}/python' '{sys.executable}'")
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([sys.executable, *create.split()[1:]], cwd=folder, capture_output=True, text=True)
            if made.returncode != 0:
                self.skipTest(f"no environment of Python's: {made.stdout}{made.stderr}")
            programs = pathlib.Path(folder) / environment / "bin"
            if sys.prefix != sys.base_prefix:  # PyTorch may be in this environment, which one made in it does not see
                seen = "import sysconfig; print(sysconfig.get_path('purelib'))"
                site = subprocess.run([programs / "python", "-c", seen], capture_output=True, text=True, check=True).stdout.strip()
                (pathlib.Path(site) / "pytorch.pth").write_text(str(pathlib.Path(torch.__file__).parents[1]), encoding="utf-8")
            variables = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                         "PIP_NO_INDEX": "1", "PIP_ROOT_USER_ACTION": "ignore"}
            done = subprocess.run(["sh", "-eu", "-c", commands], cwd=SOURCE, env=variables, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            script = "import as2; print(as2.__file__, as2.compile('sudoku-b2.as2c').count(), as2.load('digits-best').task)"
            said = subprocess.run([programs / "python", "-c", script], cwd=folder, env=variables, capture_output=True, text=True)
            self.assertRegex(said.stdout, rf"^{re.escape(folder)}/{environment}/.*/as2/__init__.py 288 \w+\n$", said.stderr)

    def test_a_folder_for_another_pytorch_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(wheel_builder, "ROOT", pathlib.Path(folder)), \
                mock.patch.dict(os.environ):
            os.environ.pop("AS2_BUILD_DIR", None)
            root = pathlib.Path(folder)
            usual, files = root / "build" / "release", root / "site" / "torch" / "share" / "cmake"
            (usual / "python" / "as2").mkdir(parents=True)
            (files / "Torch").mkdir(parents=True)
            (usual / "python" / "as2" / "_built_for.py").write_text('torch = "2.11.0"\n', encoding="utf-8")
            (usual / "CMakeCache.txt").write_text(f"Torch_DIR:PATH={files}/Torch\n", encoding="utf-8")
            own = root / "build" / "release-torch-1.13.0a0"
            for given, expected in ((pytorch("2.11.0+cu130", "13.0", files), usual), (pytorch("2.11.0"), usual),
                                    (pytorch("1.13.0a0"), own), (pytorch("2.1.0"), root / "build" / "release-torch-2.1.0"),
                                    (pytorch("2.11.0+cpu", None, root / "site"), usual),
                                    (pytorch("2.11.0+cpu", None, usual), root / "build" / "release-torch-2.11.0-cpu")):
                self.assertEqual(wheel_builder._build_folder(given, "release"), expected, given)
            os.environ["AS2_BUILD_DIR"] = str(usual)
            self.assertEqual(wheel_builder._build_folder(pytorch("2.11.0"), "debug"), usual)
            self.assertEqual(wheel_builder._build_folder(pytorch("1.13.0a0"), "release"), own)

    def test_cuda_without_its_compiler_is_told(self):
        with mock.patch.object(wheel_builder.shutil, "which", lambda name: None), \
                mock.patch.dict(os.environ, {"CUDA_HOME": "/nowhere"}):
            os.environ.pop("CUDACXX", None)
            with self.assertRaisesRegex(SystemExit, r"CUDA 13\.0.*nvcc"):
                wheel_builder._require_nvcc(pytorch("2.11.0+cu130", "13.0"))
            wheel_builder._require_nvcc(pytorch("2.11.0+cpu"))
            os.environ["CUDACXX"] = "/somewhere/nvcc"
            wheel_builder._require_nvcc(pytorch("2.11.0+cu130", "13.0"))

    def test_a_library_that_cannot_be_loaded_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "libas2_python.so").write_text("no library", encoding="utf-8")
            with mock.patch.object(_library, "__file__", f"{folder}/_library.py"), \
                    self.assertRaisesRegex(as2.EnvironmentError, "cannot be loaded: .*(invalid ELF|too short)"):
                _library._load()

        def as_in_2(path):
            raise OSError(f"Could not load this library: {path}") from OSError("undefined symbol: somewhere")

        with mock.patch.object(torch.ops, "load_library", as_in_2), \
                self.assertRaisesRegex(as2.EnvironmentError, "cannot be loaded: undefined symbol: somewhere"):
            _library._load()
        with mock.patch.object(torch, "__version__", "0.4.1"), \
                self.assertRaisesRegex(as2.EnvironmentError, "this Python has 0.4.1\nnote: .*pip install"):
            _library._load()

    def test_a_ci_without_pytorch_is_not_green(self):
        runner = pathlib.Path(__file__).with_name("run.py")
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "torch.py").write_text("raise ImportError('none here')\n", encoding="utf-8")
            for value, expected in (("true", 1), ("1", 1), ("", 77), ("false", 77), (None, 77)):
                variables = {name: text for name, text in os.environ.items() if name != "CI"}
                variables.update({"PYTHONPATH": folder} if value is None else {"PYTHONPATH": folder, "CI": value})
                done = subprocess.run([sys.executable, runner, SOURCE, folder], env=variables, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout), (expected, "skipped: this Python has no PyTorch (none here)\n"), value)

    def test_calls_of_modules_have_hints(self):
        # nn.Module's own say Any. They are for type checkers alone, so the source has them.
        for cls in (as2.SoftTp, as2.Module, as2.Network):
            body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0].body
            calls = [function for part in body if isinstance(part, ast.If) and ast.unparse(part.test) == "TYPE_CHECKING"
                     for function in part.body if function.name == "__call__"]
            self.assertEqual([ast.unparse(call.returns) for call in calls], ["torch.Tensor"], cls)
            self.assertEqual([argument.arg for argument in calls[0].args.args], list(inspect.signature(cls.forward).parameters))

    def test_everything_public_has_hints(self):
        def all_of(hint):
            yield hint
            for part in typing.get_args(hint):
                yield from all_of(part)

        functions = {name: getattr(as2, name) for name in as2.__all__ if inspect.isfunction(getattr(as2, name))}
        for cls in (as2.Program, as2.SoftTp, as2.Module, as2.Network, as2.Decoded, as2.DecodedBatch, as2.Solution, as2.Verdicts,
                    as2.UniqueReading):
            for name, member in vars(cls).items():
                member = member.fget if isinstance(member, property) else member
                if inspect.isfunction(member) and not name.startswith("_"):
                    functions[f"{cls.__name__}.{name}"] = member
        self.assertGreater(len(functions), 40)
        for name, function in functions.items():
            with self.subTest(name):
                hints = typing.get_type_hints(function, localns=vars(as2))
                self.assertEqual(set(inspect.signature(function).parameters) - {"self"}, set(hints) - {"return"})
                self.assertNotIn(typing.Any, list(all_of(hints["return"])))
                self.assertTrue(inspect.getdoc(function), "no docstring")
        for name in as2.__all__:
            self.assertTrue(inspect.getdoc(getattr(as2, name)), f"{name} has no docstring")
        self.assertTrue((pathlib.Path(as2.__file__).parent / "py.typed").exists())
