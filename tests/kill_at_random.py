"""Commands that are killed outright (SIGKILL) at random moments, in the middle of anything, and then resumed.

    python tests/kill_at_random.py --kills 5 --seed 1 [--only select ...]

Each command runs once undisturbed. Then, for each kill, it runs again with an empty cache, is killed at a random
moment, and is run once more to its end: its record, and what it prints, must have the same bits. Runs save their state
twenty times a second. The moment is a random share of the seconds from the first save to the end of the undisturbed
run; before it a run would only start anew. A run that ended before it was to be killed is told as such, and another
moment is drawn.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bayestopics.corpus import write_corpus
from bayestopics.corpus.synthetic import simulate_lda
from killing import PATIENCE, PROGRAM, content, own_cache, state_files, without_seconds

COMMANDS = {
    "fit": "fit --topics 3 --sweeps 5000 --burn-in 1000 --chains 2",
    "evidence": "evidence --topics 2-4 --sweeps 2000 --repeats 3",
    "evidence chib": "evidence --topics 2-4 --sweeps 3000 --method chib",
    "hdp gibbs": "hdp --sweeps 600 --burn-in 200 --chains 2",
    "hdp truncation-free": "hdp --method truncation-free --sweeps 40",
    "topics pmmh": "topics --method pmmh --max 9 --iterations 800 --burn-in 200",
    "select": "select --topics 1-3 --iterations 300 --chains 2",
    "hyper tempering": "hyper --topics 3 --sweeps 500 --chains 2 --method tempering",
    "hyper score": "hyper --topics 3 --sweeps 2000 --chains 2",
    "hyper iterative-grid": "hyper --topics 3 --sweeps 200 --chains 1 --search iterative-grid",
    "hyper gibbs-em": "hyper --topics 3 --sweeps 1000 --method gibbs-em",
    "hyper variational-em": "hyper --topics 20 --sweeps 2000 --method variational-em",
    "hyper full-bayes": "hyper --topics 3 --sweeps 1000 --method full-bayes",
    "topics": "topics --max 9 --iterations 2000 --burn-in 1000",
    "score completion": "score --topics 3 --sweeps 20000 --burn-in 2000",
    "score leave-one-out": "score --topics 3 --sweeps 300 --burn-in 50 --method leave-one-out",
}
DOCUMENTS = {"hyper variational-em": 1500}  # where it would be over in an instant
EVERY = "0.05"  # seconds between two saves


@dataclass(frozen=True)
class Kill:
    share: float  # of the seconds of the whole run, from its first save on
    second: float
    died: bool  # or it had ended before
    states: int  # that it left
    recorded: bool  # its record was there already
    resumed: bool  # as the record says
    same: bool


class Command:
    """A command on a simulated corpus, in a folder of its own."""

    def __init__(self, words: str, folder: Path, workers: int = 2, documents: int = 60) -> None:
        corpus = simulate_lda(documents, 40, 60, 3, alpha=0.2, eta=0.2, rng=np.random.default_rng(4)).corpus
        write_corpus(corpus, folder / "x.ldac")
        self.folder, self.words = folder, [*words.split(), str(folder / "x.ldac"), "--workers", str(workers), "--json"]
        out, answer, self.seconds = self.end("whole")
        self.answer, self.content = without_seconds(answer), content(out)

    def start(self, name: str, stdout: int) -> tuple[subprocess.Popen, Path]:
        """A process of it, and its record; what it saves is in a cache beside that."""
        environment = own_cache(self.folder / f"{name}-cache", BAYESTOPICS_CHECKPOINT_SECONDS=EVERY)
        out = self.folder / name
        program = [sys.executable, "-c", PROGRAM, *self.words, "--out", str(out)]
        quiet = subprocess.DEVNULL  # of those that are killed, helpers of Python say what they clean up
        return subprocess.Popen(program, env=environment, stdout=stdout, stderr=quiet, text=True), out

    def end(self, name: str) -> tuple[Path, str, float]:
        """Run to its end: the record, what it prints, and the seconds since its first save."""
        process, out = self.start(name, subprocess.PIPE)
        self.wait_for_a_save(name, process)
        begin = time.monotonic()
        answer, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        return out, answer, time.monotonic() - begin

    def wait_for_a_save(self, name: str, process: subprocess.Popen) -> Path:
        """Or for its end; the folder of the checkpoints."""
        checkpoints = self.folder / f"{name}-cache" / "checkpoints"
        while not state_files(checkpoints) and process.poll() is None:
            time.sleep(0.005)
        return checkpoints

    def kill(self, number: int, share: float) -> Kill:
        """Killed after this share of the seconds, then resumed at once, while its workers may still be dying."""
        name, second = f"kill-{number}", share * self.seconds
        process, out = self.start(name, subprocess.DEVNULL)
        checkpoints = self.wait_for_a_save(name, process)
        time.sleep(second)
        process.kill()
        process.wait(PATIENCE)
        states, recorded = len(state_files(checkpoints)), out.exists()
        _, answer, _ = self.end(name)
        same = content(out) == self.content and without_seconds(answer) == self.answer
        same = same and not list(checkpoints.glob("*"))  # nothing is left behind
        resumed = bool(np.any(json.loads((out / "run.json").read_text())["volatile"]["resumed"]))
        return Kill(share, second, process.returncode == -signal.SIGKILL, states, recorded, resumed, same)

    def kills(self, count: int, rng: np.random.Generator) -> Iterator[Kill]:
        """Until it was killed so many times."""
        number = killed = 0
        while killed < count:
            one = self.kill(number, float(rng.random()))
            number, killed = number + 1, killed + one.died
            yield one


def told(one: Kill) -> str:
    if not one.died:
        how = "ended before"
    elif one.recorded:
        how = "its record"
    else:
        how = f"{one.states} states" if one.resumed else "the start"
    return (
        f"at {one.second:5.1f} s ({one.share:4.0%})  resumed from: {how:12}  same bits: {'yes' if one.same else 'NO'}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=5, help="for each command")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--only", nargs="*", default=list(COMMANDS), choices=list(COMMANDS), metavar="COMMAND")
    parser.add_argument("--workers", type=int, default=2, help="processes of a command")
    options = parser.parse_args()
    subprocess.run([sys.executable, "-m", "bayestopics.runs.compile"], check=True)  # else the first run is the longest
    rng, different = np.random.default_rng(options.seed), 0
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            command = Command(COMMANDS[name], Path(folder), options.workers, DOCUMENTS.get(name, 60))
            print(f"{name}: {command.seconds:.1f} s from its first save, undisturbed", flush=True)
            for one in command.kills(options.kills, rng):
                print(f"  {told(one)}", flush=True)
                different += not one.same
    print("all have the same bits" if not different else f"{different} DIFFER")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
