"""What leaves a campaign and what comes in: exports, releases, imports."""
