"""What a row is: columns and their kinds, frames in and out, legal values, distance."""
