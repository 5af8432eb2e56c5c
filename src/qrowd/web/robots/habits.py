"""What robots do beside judging, as often as people did it.

The numbers were counted in the logs of one team of TREC 2011 (Urbano et al. 2011; 3,599 visits of
122 workers): seconds per document are log-normal, the first of a set takes longer; people look at
1.2 previews per batch taken, give 12 % of batches back; a worker does 5 batches (median), 10 % do
30 or more. Double clicks, second tabs and lost networks are not in those logs: their rates are
those of the load test.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from qrowd.errors import ParameterError

MEDIAN_SECONDS = 19.3  # over all answers
BETWEEN, WITHIN = 0.54, 0.76  # standard deviations of log seconds: between workers, within one
FIRST_OF_SET = 1.86  # how much longer the first document of a set takes
BATCHES_MEDIAN, BATCHES_SPREAD = 5.0, 1.4  # log-normal number of batches a worker does


@dataclass(frozen=True)
class Habits:
    """How often a robot does what; shares of batches or of answers."""

    preview: float = 0.55  # of visits begin with a look
    give_back: float = 0.12  # of batches are returned
    abandon: float = 0.05  # of batches are left lying
    double: float = 0.02  # of answers are sent twice
    second_tab: float = 0.01  # of answers are sent once more from an outdated page
    lost: float = 0.02  # of replies are lost, and the answer is sent again
    late: float = 0.02  # of batches are finished after the lease has ended
    change: float = 0.05  # of answers are changed afterwards
    cannot_tell: float = 0.01  # of documents
    broken: float = 0.005  # of documents

    def with_rates(self, **rates: float) -> Habits:
        """Other rates."""
        known = {one.name for one in fields(self)}
        for name, rate in rates.items():
            if name not in known or not 0 <= rate <= 1:
                raise ParameterError(f"robots: {name}={rate} must be a rate (0 to 1) of {known}")
        return replace(self, **rates)


CALM = Habits()
STORM = Habits(abandon=0.15, double=0.10, lost=0.20, second_tab=0.05, late=0.05)
EAGER = Habits(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
