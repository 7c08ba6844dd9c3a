"""A summariser forgets exact names; the original lines after its summary do not."""

from pathlib import Path

from co_tui.events.stored_messages import EXCERPTS
from co_tui.session.session import Session
from tests.support.compacting import texts
from tests.support.provider import Provider, Reply
from tests.support.talks import MODEL, compactions, talking

NAMES = [f"cart_total_{n}" for n in range(10)]
SHARES = {"compacted_share": 0.4, "summary_share": 0.25, "keep_recent_share": 0.1}
VAGUE = Reply(text="Title: Work\n- The cart was looked at, and what was found was answered.")


def lines_about(names: list[str], n: int) -> str:
    used = "\n".join(f"- `{name}` in src/cart_{k}.py must be read before checkout_{k}." for k, name in enumerate(names))
    return f"Answer {n} about the cart:\n{used}\n" + "\n".join(f"aside_{n}_{k} is unused_{n}_{k}." for k in range(60))


async def work(session: Session, provider: Provider, turns: int) -> None:
    for _ in range(turns):
        provider.script = [Reply(text=lines_about(NAMES, session.state.turn), prompt_tokens=-1)]
        await session.submit("What about the cart?")


async def test_names_used_most_stay_with_their_lines_when_no_summary_has_them(home: Path, provider: Provider) -> None:
    async with talking(home, provider, context_window=8_000, **SHARES) as session:
        for _ in range(3):
            await work(session, provider, 4)
            provider.summaries = [VAGUE]
            assert (await session.compact()).summarised_by == MODEL
        done = compactions(session.state)
        assert len([each for each in done if each.success]) >= 3
        history = "\n".join(texts(session.state))
        assert "The cart was looked at" in history
        for k, name in enumerate(NAMES):
            assert f"- `{name}` in src/cart_{k}.py must be read before checkout_{k}." in history
        assert done[-1].post_tokens < done[-1].pre_tokens
        assert done[-1].replacement[0]["metadata"][EXCERPTS]["lines"]


async def test_under_a_seed_policy_a_models_summary_stands_alone(home: Path, provider: Provider) -> None:
    async with talking(home, provider, context_window=8_000, policy="copilot") as session:
        await work(session, provider, 4)
        provider.summaries = [VAGUE]
        done = await session.compact()
        assert done.summarised_by == MODEL and EXCERPTS not in done.replacement[0]["metadata"]
