"""Builds the wheel: CMake makes the package, a wheel is a zip file of it (PEP 517 and 427).

No setuptools, no network: what is needed is what the project itself needs. The build folder is that of ./as2, so that
nothing is compiled twice; AS2_PRESET names another preset.
"""
import base64
import hashlib
import os
import pathlib
import platform
import re
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


def _cmake_arguments():
    try:
        import torch
    except ImportError:
        sys.exit("as2: this Python has no PyTorch: install it (Debian: python3-torch) and pass --no-build-isolation to pip")
    prefix = pathlib.Path(torch.utils.cmake_prefix_path)
    found = [f"-DCMAKE_PREFIX_PATH={prefix}"] if prefix.is_dir() else []  # Debian's is where CMake looks anyway
    return [*found, f"-DAS2_PYTHON={sys.executable}"]


def _built_package():
    preset = os.environ.get("AS2_PRESET", "release")
    build = ROOT / "build" / preset
    if not (build / "build.ninja").exists():
        _run("cmake", "--preset", preset, *_cmake_arguments())
    _run("cmake", "--build", "--preset", preset, "--target", "as2-python", "--parallel", str(os.cpu_count() or 1))
    return build / "python" / "as2"


def _files():
    """(name in the wheel, path) of everything it holds."""
    package = _built_package()
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


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    about = _about()
    tag = f"py3-none-{sys.platform}_{platform.machine()}"
    stem = f"{about['name']}-{about['version']}"
    name = f"{stem}-{tag}.whl"
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
        add(f"{info}/METADATA", (f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n"
                                 f"Summary: {about['description']}\nRequires-Python: {about['requires-python']}\n").encode())
        add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: as2\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
        records.append(f"{info}/RECORD,,")
        wheel.writestr(f"{info}/RECORD", "\n".join(records) + "\n")
    return name
