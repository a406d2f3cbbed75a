"""Problems are spread over the GPUs that are named, and a process sees its own."""
import os
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "kernelbench"))
from cards import Cards  # noqa: E402
from times import card_of  # noqa: E402

cards = Cards("3,5")
with cards.one() as first, cards.one() as second, cards.one() as third:
    assert [card_of(each) for each in (first, second, third)] == ["3", "5", "3"]
with cards.one() as again:
    assert card_of(again) == "3", "a card that was given back is free"
os.environ["CUDA_VISIBLE_DEVICES"] = "7"
with Cards("").one() as one, Cards("").one() as other:
    assert card_of(one) == card_of(other) == "7", "without names the environment decides"
