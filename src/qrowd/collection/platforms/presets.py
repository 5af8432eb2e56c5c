"""What is known of platforms: their parameters, and where workers go at the end."""

from __future__ import annotations

from qrowd.collection.platforms.provider import Provider

PRESETS = {
    one.name: one
    for one in (
        Provider("own", person="worker"),
        Provider("generic", person="worker"),
        Provider(
            "prolific",
            person="PROLIFIC_PID",
            keep=("STUDY_ID", "SESSION_ID"),
            redirect="https://app.prolific.com/submissions/complete?cc={code}",
            session="SESSION_ID",
            study="STUDY_ID",
        ),
        Provider(
            "mturk",
            person="workerId",
            keep=("assignmentId", "hitId", "turkSubmitTo"),
            hosts=("www.mturk.com", "workersandbox.mturk.com"),
            session="assignmentId",
            study="hitId",
            preview=("assignmentId", "ASSIGNMENT_ID_NOT_AVAILABLE"),
            submit_to="turkSubmitTo",
            submit_path="/mturk/externalSubmit",
        ),
    )
}
