"""How results look: charts, reports, notebooks. Nothing here asks a model."""
