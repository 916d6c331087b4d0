"""Long work in jobs: done on this machine or on a cluster, each result saved at once, so that a run can be resumed."""
