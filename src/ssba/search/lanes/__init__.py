"""The search as one array program: all lanes of all queries, one after the other only where they must be.

A lane is one attempt: a region of a query, and a row to begin from. Arrays are ``[lanes, columns]``; the rows
to ask are a list with the number of the region that each belongs to.
"""
