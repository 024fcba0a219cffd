"""Many rows explained into one Parquet file: in chunks, by one process or many, to be resumed at any time."""
