"""The result of `fit`: its chains and its topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayestopics.lda.state import Prior
from bayestopics.runs.kinds import show_values
from bayestopics.runs.result import Summary
from bayestopics.runs.topics_result import TopicsResult

if TYPE_CHECKING:
    import arviz
    from matplotlib.figure import Figure


class FitResult(TopicsResult):
    """Chains of one sampler: their log joint, whether they agree, and the topics of the best chain."""

    @property
    def log_joint(self) -> np.ndarray:
        """Chains x kept sweeps."""
        kept = self.trace[self.trace["sweep"] >= self.task.params["burn_in"]]
        return np.array([chain["log_joint"] for _, chain in kept.groupby("chain", sort=True)])

    def summary(self) -> Summary:
        chains = self.log_joint.tolist()
        answer = dict(self.answer)
        return {
            "log_joint": chains[0] if len(chains) == 1 else chains,
            "log_joint_mean": answer.pop("log_joint_mean"),
            "log_joint_error": answer.pop("log_joint_error"),
            **self._volatile("seconds", "tokens_per_second"),
            **answer,
            "warnings": self.warnings,
        }

    def text(self) -> str:
        summary = self.summary()
        rest = {key: value for key, value in summary.items() if key not in ("log_joint", "topics", "best_chain")}
        return "\n".join([*self._topic_lines(), "", show_values(rest)])

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_chains

        title = f"{self._shown_name}, T = {self.task.params['topics']}: log joint"
        return draw_chains(self.trace, "log_joint", self.task.params["burn_in"], title, "log p(w, z) (nats)")

    def to_arviz(self) -> arviz.InferenceData:
        """The traces (chains x draws) of quantities that do not depend on the labels of the topics."""
        from bayestopics.runs.export import to_arviz

        return to_arviz(self)

    # -- of its topics --------------------------------------------------------------------------------------

    @property
    def listed(self) -> list[dict[str, Any]]:
        topics: list[dict[str, Any]] = self.answer["topics"]
        return topics

    @property
    def topic_count(self) -> int:
        return int(self.task.params["topics"])

    @property
    def prior(self) -> Prior:
        return Prior(self.task.params["alpha"], self.task.params["eta"])
