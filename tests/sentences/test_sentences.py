"""The list of sentences that users can see is complete."""

from tests.sentences.collect import LIST, collected


def test_every_sentence_of_the_source_is_in_the_list_that_was_read() -> None:
    assert LIST.read_text(encoding="utf-8") == collected()
