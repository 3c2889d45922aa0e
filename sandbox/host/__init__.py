"""The sandbox host: owns the zygote and the live sessions. The standard library is all it needs."""
