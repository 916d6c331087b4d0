"""Long work in jobs: done on this machine or on a cluster, each result kept at once, so that a run can go on."""
