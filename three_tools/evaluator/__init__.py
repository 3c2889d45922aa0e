"""The Evaluator: judges every step by what was expected of it, reading hashed objects inside the sandbox."""
