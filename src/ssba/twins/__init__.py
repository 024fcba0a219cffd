"""Models that were read, made anew as torch modules, so that they run where torch runs."""
