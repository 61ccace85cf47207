"""What `tidelog demo traffic` sends."""

import json
import random
from collections import Counter

from tidelog.cli.demos.visits import message


def test_visits_have_favourites_and_latecomers_and_is_the_same_for_a_seed() -> None:
    made = [message(random.Random(number), 1_000_000.0) for number in range(2000)]
    assert made == [message(random.Random(number), 1_000_000.0) for number in range(2000)]
    assert {each.topic for each in made} == {"pageviews", "service-logs"}
    events = [json.loads(each.value) for each in made if each.topic == "pageviews"]
    pages = Counter(each["page"] for each in events)
    assert pages.most_common(1)[0][0] == "/"
    assert {each["kind"] for each in events} == {"view", "search"}
    assert 0 < sum(each["at"] < "1970-01-12T13:46:40" for each in events) < len(events) / 10
