"""Work in other threads: ahead of time, and shared."""

from __future__ import annotations

import threading

import pytest

from mumon.utils.threads import share_work, work_ahead


def test_errors_of_work_ahead_are_dropped():
    seen = []

    def fail():
        seen.append(threading.current_thread().name)
        raise ValueError

    thread = work_ahead(fail, "mumon-test")
    assert thread is not None
    thread.join()
    assert seen == ["mumon-test"]


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_every_item_of_shared_work_is_done_once_and_reported_here(workers):
    done, reported = [], []

    def report(item):
        assert threading.current_thread() is threading.main_thread()
        reported.append(item)

    share_work(done.append, range(500), workers, report)
    assert sorted(done) == sorted(reported) == list(range(500))


def test_shared_work_is_done_by_several_threads_at_once():
    meeting = threading.Barrier(3, timeout=30)
    share_work(lambda item: meeting.wait(), range(3), 3, lambda item: None)


@pytest.mark.parametrize("workers", [1, 4])
def test_an_error_ends_shared_work(workers):
    done = []

    def work(item):
        if item == 5:
            raise ValueError("item 5")
        done.append(item)

    with pytest.raises(ValueError, match="item 5"):
        share_work(work, iter(range(10**9)), workers, lambda item: None)
    assert len(done) < 10**6


def test_shared_work_goes_on_without_more_threads(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done = []
    share_work(done.append, range(9), 4, lambda item: None)
    assert done == list(range(9))
