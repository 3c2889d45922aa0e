"""The doors: every way into Decision Partner."""
