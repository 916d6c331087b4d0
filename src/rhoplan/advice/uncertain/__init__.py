"""What uncertain numbers mean for advice: see `uncertainty`."""
