"""The three tools, who may call them, and what is recorded and judged after every call."""
