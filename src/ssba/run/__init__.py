"""Where it runs: the array namespace of the kernels, and the executors of the work."""
