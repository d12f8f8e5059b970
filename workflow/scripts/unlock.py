"""Removes the locks that a killed `snakemake` left behind, unless one of its processes is still running here."""

import shutil
import sys
from pathlib import Path

import psutil

locks = Path(".snakemake/locks")
if locks.is_dir() and any(locks.iterdir()):
    here = str(Path.cwd())
    for process in psutil.process_iter():
        try:
            mine = process.cwd() == here and "snakemake" in " ".join(process.cmdline()[:3])
        except psutil.Error:
            continue
        if mine:
            pid = process.pid
            sys.exit(
                f"A run is still under way here, or a job of a killed run: wait for it or end it with `kill {pid}`."
            )
    shutil.rmtree(locks)
