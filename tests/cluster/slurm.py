"""A Slurm of one node on the loopback interface, from Debian's packages (slurmctld, slurmd, munge), without accounting.

    python tests/cluster/slurm.py sinfo

runs a command with such a Slurm around it. All its files are in a temporary folder.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "sinfo", "scontrol", "scancel")
PATIENCE = 60  # seconds until it must be there
SETTINGS = """
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={controller}
SlurmdPort={daemon}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1000
SchedulerParameters=sched_interval=2,batch_sched_delay=0
MinJobAge=600
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=localhost NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes=localhost Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def missing() -> list[str]:
    """The programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]


def _path() -> str:
    return f"{os.environ['PATH']}:/usr/sbin:/sbin"


def _free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        return int(free.getsockname()[1])


@contextmanager
def slurm(cpus: int = 2, memory: int = 4000) -> Iterator[dict[str, str]]:
    """The environment in which Slurm's commands find it."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:
        folder = Path(name)
        for part in ("state", "spool"):
            (folder / part).mkdir()
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        ports = {"controller": _free_port(), "daemon": _free_port()}
        text = SETTINGS.format(user=user, folder=folder, cpus=cpus, memory=memory, **ports)
        (folder / "slurm.conf").write_text(text)
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "munge.key").chmod(0o400)
        _write_programs(folder)
        environment = {**os.environ, "PATH": f"{folder / 'bin'}:{_path()}"}
        files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log"}
        options = [f"--{option}={folder / file}" for option, file in {**files, "seed-file": "munge.seed"}.items()]
        # --force: a temporary folder is below one that everybody can write to
        commands = [
            ["munged", "--foreground", "--force", *options],
            ["slurmctld", "-D"],
            ["slurmd", "-D", "-N", "localhost"],
        ]
        daemons = []
        try:
            for command in commands:
                quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
                daemons.append(subprocess.Popen(command, start_new_session=True, **quiet))
                time.sleep(0.5)
            _wait_until_idle(environment, folder)
            yield environment
        finally:
            subprocess.run(["scancel", "-u", user], env=environment, capture_output=True)  # else jobs outlive it
            time.sleep(1)
            for daemon in reversed(daemons):
                daemon.terminate()
                daemon.wait()


def _write_programs(folder: Path) -> None:
    """Programs that know where the settings are: Snakemake's plugin does not pass on the variable SLURM_CONF."""
    (folder / "bin").mkdir()
    for name in PROGRAMS:
        program = folder / "bin" / name
        program.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which(name, path=_path())} "$@"\n')
        program.chmod(0o755)


def _wait_until_idle(environment: dict[str, str], folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        done = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True)
        if done.stdout.strip() == "idle":
            return
        time.sleep(0.5)
    logs = "\n".join(path.read_text()[-1500:] for path in folder.glob("*.log"))
    raise RuntimeError(f"Slurm is not ready after {PATIENCE} s: {done.stdout}{done.stderr}\n{logs}")


if __name__ == "__main__":
    with slurm() as found:
        sys.exit(subprocess.run(sys.argv[1:], env=found).returncode)
