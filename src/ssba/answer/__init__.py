"""What the person gets: results, and the views of them as text, frames, HTML and plots."""
