"""The wire contract without I/O: what both clients send, and what they accept in return."""
