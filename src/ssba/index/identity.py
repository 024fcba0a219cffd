"""What a boundary set is about, and the refusal of one that is about something else."""

from ssba.engine import Engine
from ssba.errors import ArgumentError
from ssba.index.files.store import Identity


def identity_of(engine: Engine) -> Identity:
    """Return what the boundary points of this engine are about."""
    features = engine.space.features
    return Identity(
        schema_hash=engine.space.schema_hash,
        columns=tuple(one.name for one in features),
        kinds=tuple(one.kind for one in features),
        model_name=engine.judging.model.name,
        model_fingerprint=engine.judging.model.fingerprint,
        target=engine.target_text,
    )


def can_be_adopted(stored: Identity, own: Identity) -> bool:
    """Whether nothing but the model differs, so that it can be asked about the points."""
    return (stored.schema_hash, stored.target) == (own.schema_hash, own.target)


def refuse_another(stored: Identity, own: Identity, what: str) -> None:
    """Raise if an index, or a set in memory, is about something else, and say what differs."""
    if not (differences := stored.differences(own)):
        return
    advice = "make another one with this explainer's sample_boundary"
    if can_be_adopted(stored, own):
        # Models are told apart by their answers to the background rows.
        advice = (
            "if the model was retrained, or the background data changed, open_boundary(path, adopt=True) or "
            "`ssba boundary verify --drop` asks it about all points and keeps those that hold"
        )
    raise ArgumentError(f"{what} is about something else: {'; '.join(differences)}; {advice}")
