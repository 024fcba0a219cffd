"""The files of an index: shards, manifests, repair."""
