"""Many deadlines behind one timer."""

from hypothesis import given
from hypothesis import strategies as st

from tidelog.group_coordinator.core.groups.deadlines import Deadlines
from tidelog.group_coordinator.core.groups.subscription import followed_topics


def test_deadline_that_is_put_off_fires_once_and_late() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for at_ms in (10, 20, 30):
        deadlines.set("a", at_ms)
    assert (deadlines.next_ms(), list(deadlines.due(29))) == (30, [])
    assert (list(deadlines.due(30)), list(deadlines.due(99)), deadlines.next_ms()) == (["a"], [], None)


def test_what_is_set_for_now_while_deadlines_are_handled_waits_for_the_next_call() -> None:
    deadlines: Deadlines[int] = Deadlines()
    deadlines.set(0, 5)
    seen = []
    for key in deadlines.due(5):
        seen.append(key)
        deadlines.set(key + 1, 5)
    assert (seen, list(deadlines.due(5))) == ([0], [1])


def test_deadline_that_is_cancelled_by_an_earlier_one_does_not_fire() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 1)
    deadlines.set("b", 2)
    for _ in deadlines.due(9):
        deadlines.cancel("b")
    assert len(deadlines) == 0


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.none() | st.integers(0, 20), st.integers(0, 20))))
def test_deadlines_fire_like_a_plain_dictionary_would(steps: list[tuple[str, int | None, int]]) -> None:
    deadlines: Deadlines[str] = Deadlines()
    model: dict[str, int] = {}
    now_ms = 0
    for key, at_ms, then_ms in steps:
        if at_ms is None:
            deadlines.cancel(key)
            model.pop(key, None)
        else:
            deadlines.set(key, at_ms)
            model[key] = at_ms
        assert deadlines.next_ms() == min(model.values(), default=None)
        now_ms = max(now_ms, then_ms)
        due = [found for found, when in model.items() if when <= now_ms]
        assert sorted(deadlines.due(now_ms)) == sorted(due)
        for found in due:
            del model[found]


@given(st.binary())
def test_no_subscription_is_too_strange_to_be_read(metadata: bytes) -> None:
    topics = followed_topics(metadata)
    assert topics is None or isinstance(topics, frozenset)
