"""Builds the wheel: CMake makes the package, a wheel is a zip file of it (PEP 517 and 427).

No setuptools, no network: what is needed is what the project itself needs. Nothing is compiled twice where the build
folder of ./as2 is for the PyTorch of this Python; for another PyTorch there is a folder of its own beside it.
AS2_PRESET names another preset, AS2_BUILD_DIR a folder to look at before that of ./as2; CMAKE_ARGS are passed on.
"""
import base64
import contextlib
import fcntl
import hashlib
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_SHIPPED = {"__pycache__"}


def _run(*words):
    # pip shows standard output only where it is asked to, and an error's whole.
    done = subprocess.run(words, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"as2: failed: {' '.join(map(str, words))}")


def _pytorch():
    try:
        import torch
    except ImportError:
        sys.exit("as2: this Python has no PyTorch: install it (Debian: python3-torch) and pass --no-build-isolation to pip")
    return torch


def _cmake_files(torch):
    """The folder in which CMake finds this PyTorch; None where CMake looks anyway, as in Debian."""
    prefix = pathlib.Path(torch.utils.cmake_prefix_path)
    return prefix.resolve() if prefix.is_dir() else None


def _is_for(build, torch):
    """Whether the folder is configured for this PyTorch."""
    try:
        cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
        built_for = (build / "python" / "as2" / "_built_for.py").read_text(encoding="utf-8")
    except OSError:
        return False
    version = re.search(r'^torch = "(\d+\.\d+)', built_for, re.M)
    if not version or not re.match(re.escape(version.group(1)) + r"\b", torch.__version__):
        return False
    where = re.search(r"^Torch_DIR:[A-Z]*=(.*)$", cache, re.M)
    prefix = _cmake_files(torch)
    return prefix is None or (where is not None and prefix in pathlib.Path(where.group(1)).resolve().parents)


def _build_folder(torch, preset):
    usual = [ROOT / "build" / preset]
    if "AS2_BUILD_DIR" in os.environ:
        usual.insert(0, pathlib.Path(os.environ["AS2_BUILD_DIR"]))
    own = ROOT / "build" / f"{preset}-torch-{re.sub(r'[^0-9A-Za-z.]', '-', torch.__version__)}"
    return next((folder for folder in usual if _is_for(folder, torch)), own)


def _require_nvcc(torch):
    """PyTorch's CMake files stop, with other words, where PyTorch is for CUDA and there is no compiler for it."""
    home = pathlib.Path(os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda")
    if torch.version.cuda and not (os.environ.get("CUDACXX") or shutil.which("nvcc") or (home / "bin" / "nvcc").exists()):
        sys.exit(f"as2: this PyTorch is for CUDA {torch.version.cuda}, and building against it needs CUDA's compiler nvcc: install "
                 "CUDA's toolkit of that version and put nvcc on PATH, or install a PyTorch for the CPU")


@contextlib.contextmanager
def _alone_in(build):
    """./as2 takes the same lock: two builds in one folder spoil each other."""
    build.mkdir(parents=True, exist_ok=True)
    with open(build / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def built_package():
    """The folder of the package, built for the PyTorch of this Python."""
    torch = _pytorch()
    preset = os.environ.get("AS2_PRESET", "release")
    build = _build_folder(torch, preset)
    with _alone_in(build):
        if not (build / "build.ninja").exists():
            _require_nvcc(torch)
            prefix = _cmake_files(torch)
            _run("cmake", "--preset", preset, "-B", build, f"-DAS2_PYTHON={sys.executable}",
                 *([f"-DCMAKE_PREFIX_PATH={prefix}"] if prefix else []), *shlex.split(os.environ.get("CMAKE_ARGS", "")))
        _run("cmake", "--build", build, "--target", "as2-python", "--parallel", str(os.cpu_count() or 1))
    return build / "python" / "as2"


def _files():
    """(name in the wheel, path) of everything it holds."""
    package = built_package()
    for path in sorted(package.rglob("*")):
        if path.is_file() and not NOT_SHIPPED & set(path.relative_to(package).parts):
            yield "as2/" + path.relative_to(package).as_posix(), path
    for folder in ("programs", "models"):
        for path in sorted((ROOT / folder).iterdir()):
            yield f"as2/share/as2/{folder}/{path.name}", path


def _about():
    """name, description, requires-python of pyproject.toml; version of CMakeLists.txt."""
    about = dict(re.findall(r'^([\w-]+) = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M))
    cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return {**about, "version": re.search(r"^project\(as2 VERSION ([\d.]+)", cmake, re.M).group(1)}


def _tag():
    return f"py3-none-{sys.platform}_{platform.machine()}"


def _metadata(about):
    """(name, text) of what the wheel says of itself, but for the list of its files."""
    yield "METADATA", (f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n"
                       f"Summary: {about['description']}\nRequires-Python: {about['requires-python']}\n")
    yield "WHEEL", f"Wheel-Version: 1.0\nGenerator: as2\nRoot-Is-Purelib: false\nTag: {_tag()}\n"


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Without it pip would build the whole wheel once more, for its name."""
    about = _about()
    info = f"{about['name']}-{about['version']}.dist-info"
    (pathlib.Path(metadata_directory) / info).mkdir()
    for name, text in _metadata(about):
        (pathlib.Path(metadata_directory) / info / name).write_text(text, encoding="utf-8")
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    about = _about()
    stem = f"{about['name']}-{about['version']}"
    name = f"{stem}-{_tag()}.whl"
    info = f"{stem}.dist-info"
    records = []
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED,
                         compresslevel=1) as wheel:
        def add(at, data):
            wheel.writestr(at, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            records.append(f"{at},sha256={digest},{len(data)}")

        for at, path in _files():
            add(at, path.read_bytes())
        for file, text in _metadata(about):
            add(f"{info}/{file}", text.encode())
        records.append(f"{info}/RECORD,,")
        wheel.writestr(f"{info}/RECORD", "\n".join(records) + "\n")
    return name
