"""Which conversation a list of messages continues, and what is kept of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ethogram.app.chat.conversation import Conversation
from ethogram.config import Settings
from ethogram.errors import BadUsage
from ethogram.service import chats as module
from ethogram.service.chat_states import CHAT, HEAD
from ethogram.service.chats import Chats
from ethogram.service.messages import ChatIdentity, chained, turns_of
from ethogram.store import Store, open_store
from ethogram.store.records import LITELLM, PROXY, Added
from service.test_chat import RISING, bot, user

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
Lines = list[dict[str, Any]]


def chats(lines: Lines | None = None, **options: Any) -> Chats:
    """Conversations whose turns go into a list."""

    def emit(new: Lines) -> Future[Added]:
        assert lines is not None
        lines.extend(new)
        done: Future[Added] = Future()
        done.set_result(Added(len(new), 0))
        return done

    return Chats(Settings(), clock=lambda: NOW, emit=None if lines is None else emit, **options)


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        return await work()

    return asyncio.run(main())


def history(count: int) -> list[dict[str, Any]]:
    """So many questions with their answers, the last one without."""
    return [message for n in range(count) for message in (user(f"question {n}"), bot(f"answer {n}"))][:-1]


def test_the_risk_is_that_of_a_conversation() -> None:
    async def work() -> list[float]:
        talks, said, risks = chats(), [], []
        for text in RISING:
            said.append(user(text))
            place = await talks.follow(said)
            assert place is not None
            assert place.standing is not None
            risks.append(place.standing.risk)
        return risks

    talk = Conversation("c1", clock=lambda: NOW)
    assert run(work) == pytest.approx([talk.turn(text, at=NOW).risk for text in RISING], abs=1e-5)


def test_memory_is_bounded_and_what_is_forgotten_is_followed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NODES", 8)

    async def work() -> None:
        lines: Lines = []
        talks = chats(lines, most=3)
        for name in range(10):
            await talks.follow([user(f"I am {name}"), *history(6)])
        assert len(talks) == 3
        assert len(talks._nodes) <= 3 * 8
        assert sum(node.talk is not None for node in talks._nodes.values()) <= 3 * module.TALKS_AT_HAND
        again = await talks.follow([user("I am 0"), *history(7)])
        assert again is not None
        assert again.standing is not None
        assert again.standing.turn == 14

    run(work)


def test_a_branch_from_an_old_turn_stands_where_a_conversation_of_its_messages_stands() -> None:
    async def work() -> None:
        talks = chats()
        await talks.follow(history(12))
        edited = [*history(4)[:-1], user(RISING[2])]
        branch, whole = await talks.follow(edited), await chats().follow(edited)
        assert branch is not None
        assert whole is not None
        assert branch.chat.id.endswith("~2")
        assert branch.standing is not None
        assert whole.standing is not None
        assert branch.standing.risk == pytest.approx(whole.standing.risk, abs=1e-3)
        assert branch.standing.turn == whole.standing.turn

    run(work)


def test_the_same_request_many_times_at_once_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INLINE", 0)  # all in threads, so that they meet

    async def work() -> None:
        lines: Lines = []
        talks = chats(lines)
        places = await asyncio.gather(*(talks.follow(history(3)) for _ in range(20)))
        assert len({place.chat.id for place in places if place is not None}) == 1
        others = await asyncio.gather(
            *(talks.follow([*history(3), bot("answer 2"), user(f"and {n}?")]) for n in range(5))
        )
        assert len({place.chat.id for place in others if place is not None}) == 5
        talks.close()
        assert len(talks) == 5
        ids = [line["id"] for line in lines]
        assert len(ids) == len(set(ids))

    run(work)


def test_an_answer_that_comes_after_the_next_request_counts_once() -> None:
    async def work() -> None:
        lines: Lines = []
        talks = chats(lines)
        first = await talks.follow(history(1))
        assert first is not None
        await talks.follow(history(2))
        late = await talks.answer(first, "answer 0")
        assert late.standing is not None
        assert late.standing.turn == 2
        talks.close()
        assert [line["attributes"]["role"] for line in lines] == ["user", "assistant", "user"]

    run(work)


def test_blanks_and_the_forms_of_a_content_make_no_difference() -> None:
    async def work() -> None:
        talks = chats()
        first = await talks.follow([user("Hello!")])
        parts = {"role": "user", "content": [{"type": "text", "text": " Hello!\n"}]}
        second = await talks.follow([{"role": "system", "content": "Be brief."}, parts])
        assert first is not None
        assert second is not None
        assert first.key == second.key

    run(work)


@pytest.mark.parametrize(
    "messages", [[], [None, 1, "x"], [{"role": "nobody"}], [{"role": "system", "content": "x"}]]
)
def test_what_holds_no_turn_is_no_conversation(messages: list[Any]) -> None:
    assert run(lambda: chats().follow(messages)) is None


@pytest.mark.parametrize("content", [None, 1, {"x": 1}, [[["x"]]], [{"type": "image_url"}], "\ud800"])
def test_any_content_is_followed(content: Any) -> None:
    assert run(lambda: chats().follow([{"role": "user", "content": content}])) is not None


def test_a_purged_subject_is_forgotten_here_too(tmp_path: Path) -> None:
    async def work() -> None:
        with open_store(str(tmp_path / "c.db"), create=True) as store:
            talks = chats(store=store)
            await talks.append("c1", "user", "Hello!", subject="kim")
            assert [item.name for item in store.states_of("kim")] == ["chat"]
            store.purge(subject="kim")
            assert talks.forget("kim") == 1
            turn = await talks.append("c1", "user", "Hello!", subject="kim")
            assert turn.turn == 1
            talks.close()

    run(work)


def test_a_store_of_pseudonyms_is_refused(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "c.db"), create=True) as store:
        store.make_private(1)
        with pytest.raises(BadUsage, match="other names"):
            chats(store=store)


def as_before(store: Store, identity: ChatIdentity, name: str, turns: list[Any]) -> None:
    """Change the saved state of a conversation to what it was before conversations had an owner."""
    data = store.load_state(CHAT, name)
    assert data is not None
    fields = json.loads(data)
    del fields["owner"], fields["label"]
    store.save_state(HEAD, fields["head"], None, NOW)
    root = identity.earlier_root()
    head = chained(root, turns_of(turns))[-1]
    fields |= {"root": root.hex(), "head": head.hex()}
    store.save_state(CHAT, name, json.dumps(fields).encode(), NOW, subject=fields["subject"])
    store.save_state(HEAD, head.hex(), json.dumps(name).encode(), NOW)


@pytest.mark.parametrize("subject", [None, "bob"])
@pytest.mark.parametrize("name", [None, "c1"])
def test_conversations_saved_before_they_had_an_owner_go_on(
    tmp_path: Path, name: str | None, subject: str | None
) -> None:
    who = {"name": name, "subject": subject, "source": PROXY}

    async def work() -> None:
        with open_store(str(tmp_path / "c.db"), create=True) as store:
            talks = chats(store=store)
            first = await talks.follow(history(3), **who)
            talks.close()
            assert first is not None
            as_before(store, ChatIdentity(None, PROXY, subject, name), first.chat.id, history(3))

            talks = chats(store=store)
            stranger = await talks.follow(history(4), **{**who, "subject": "eve"}, owner="one")
            assert stranger is not None
            assert stranger.chat.id != first.chat.id
            for count in (4, 5):
                place = await talks.follow(history(count), **who, owner="one")
                assert place is not None
                assert place.chat.id == first.chat.id
                assert place.standing is not None
                assert place.standing.turn == 2 * count - 1
            talks.close()

            talks = chats(store=store)
            again = await talks.follow(history(6), **who, owner="one")
            other = await talks.follow(history(6), **who, owner="two")
            assert again is not None
            assert other is not None
            assert again.chat.id == first.chat.id
            assert other.chat.id != first.chat.id
            talks.close()

    run(work)


def test_ids_of_turns_are_apart_where_two_share_the_name_of_a_conversation(tmp_path: Path) -> None:
    async def work() -> None:
        lines: Lines = []
        with open_store(str(tmp_path / "c.db"), create=True) as store:
            talks = chats(lines, store=store)
            owners, who = (None, "one", "two"), (None, "bob", "eve")
            await asyncio.gather(
                *(
                    talks.follow(history(2), name="c1", subject=subject, source=source, owner=owner)
                    for subject in who
                    for source in (PROXY, LITELLM)
                    for owner in owners
                )
            )
            talks.close()
        assert len(lines) == 3 * 2 * 3 * 3
        assert len({line["id"] for line in lines}) == len(lines)
        assert len({line["thread"] for line in lines}) == 3 * 2 * 3

    run(work)
