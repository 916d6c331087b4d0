"""What people use: records, the command line, the server."""
