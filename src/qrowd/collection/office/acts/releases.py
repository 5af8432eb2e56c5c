"""What is published."""

from __future__ import annotations

from qrowd.collection.database.store import Work
from qrowd.collection.publishing.release import ReleaseFiles
from qrowd.collection.record.act import Act, Details
from qrowd.collection.record.details import Inside, Line, Number, detail


class Release(Act):
    """Publish the judgements; whoever gets them can keep them."""

    name = "release"
    final = True
    command = "qrowd campaign release"
    results = (
        ("judgements", Number()),
        ("method", Line()),
        ("file", Line()),
        ("sha256", Line()),
    )
    files: ReleaseFiles = detail(Inside(of=ReleaseFiles), recorded=False)

    def do(self, work: Work) -> Details:
        return vars(self.files)
