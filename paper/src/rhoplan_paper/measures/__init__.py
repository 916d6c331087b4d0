"""What jobs measure."""
