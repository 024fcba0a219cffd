"""Reports: one self-contained HTML page."""
