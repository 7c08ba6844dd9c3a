"""Settings compared with each other, with the policy, and with what the libraries know."""

from pathlib import Path

import pytest

from co_tui.paths import locate
from co_tui.settings import Settings, SettingsError, check, contradictions, load, policy_names, unused
from co_tui.settings.rules import MODEL_PREFIXES, THEMES
from tests.support.cases import each_case
from tests.support.here import Here
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, transcript_text, type_text, until


@each_case(
    ("key", "value"),
    [
        ("theme", "zzz"),
        ("telemetry", "zz"),
        ("telemetry", "ftp://host"),
        ("telemetry", "http://"),
        ("model", "nosuch:x"),
        ("model", "anthropic:"),
        ("model", "gpt"),
        ("summarization_model", "nosuch:x"),
        ("base_url", "localhost:8000"),
        ("base_url", "http://host:notaport/v1"),
    ],
)
def test_a_value_that_cannot_work_is_refused_at_once(key: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"{key} = .* is not allowed. Use"):
        check(key, value)


@each_case(
    ("key", "value"),
    [
        ("base_url", "http://me:hunter22@host/v1"),
        ("base_url", "http://me:hunter/22@host/v1"),
        ("base_url", "ftp://hunter22@host"),
        ("base_url", "me:hunter22@host:8000"),
        ("telemetry", "https://me:hunter22@host"),
        ("model", "openai-chat:small@http://me:hunter22@host/v1"),
        ("model", "nosuch:small@http://me:hunter22@host/v1"),
        ("summarization_model", "openai-chat:@http://me:hunter22@host/v1"),
    ],
)
def test_an_address_with_a_password_is_refused_without_showing_it(key: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{key} = (a model at )?a URL with a password is not allowed") as refused:
        check(key, value)
    assert "hunter" not in str(refused.value)


@each_case(
    ("key", "value"),
    [
        ("theme", "nord"),
        ("telemetry", "off"),
        ("telemetry", "http://127.0.0.1:4318/v1/traces"),
        ("model", "embedded"),
        ("model", ""),
        ("model", "openai-chat:"),
        ("model", "openai-chat:any/name:latest"),
        ("model", "openai-chat:@cf/meta/llama@http://host:8000/v1"),
        ("model", "gateway/anthropic:claude-sonnet-5"),
        ("base_url", "http://[::1]:8000/v1"),
    ],
)
def test_a_value_that_can_work_is_taken(key: str, value: str) -> None:
    assert check(key, value) == value


def test_the_lists_of_names_are_those_of_the_libraries() -> None:
    from pydantic_ai.models import KnownModelName
    from textual.theme import BUILTIN_THEMES

    known = {name.partition(":")[0].removeprefix("gateway/") for name in KnownModelName.__value__.__args__}
    assert known - {"test"} <= set(MODEL_PREFIXES)
    assert set(BUILTIN_THEMES) <= set(THEMES)


def test_values_that_contradict_each_other_are_bad_and_both_are_named(tmp_path: Path) -> None:
    wrong = contradictions(Settings(background_compaction_threshold=0.97))
    assert len(wrong) == 1 and "0.97" in wrong[0] and "buffer_exhaustion_threshold = 0.95" in wrong[0]
    assert contradictions(Settings(run_compression_low=0.95))
    assert contradictions(Settings(keep_recent_share=0.9, summary_share=0.1))
    environ = {"CO_TUI_BUFFER_EXHAUSTION_THRESHOLD": "0.5", "CO_TUI_HOME": str(tmp_path)}
    loaded = load(paths=locate(environ), cwd=tmp_path, environ=environ)
    assert any("must not be above" in problem for problem in loaded.problems)


def test_no_policy_of_ours_contradicts_itself_and_each_says_what_it_does_not_use(tmp_path: Path) -> None:
    paths = locate({"CO_TUI_HOME": str(tmp_path)})
    for name in policy_names(paths):
        loaded = load(paths=paths, cwd=tmp_path, environ={}, command_line={"policy": name})
        assert not loaded.problems
        idle = unused(loaded.settings)
        own = {key for key, origin in loaded.origins.items() if origin.source == f"policy {name}"}
        assert not own & idle.keys(), "a policy sets what it uses"
    balanced = unused(Settings(policy="balanced"))
    assert "agent_max_context_tokens" in balanced and "balanced" in balanced["agent_max_context_tokens"]
    assert "background_compaction_threshold" not in balanced


def test_config_says_what_is_unused_and_what_overrides(here: Here) -> None:
    assert "unused by policy balanced" in here("config", "agent_max_context_tokens").out
    set_unused = here("config", "agent_max_context_turns", "7")
    assert set_unused.code == 0 and "unused by policy balanced" in set_unused.err
    here.environ["CO_TUI_MAX_RETRIES"] = "2"
    overridden = here("config", "max_retries", "3")
    assert "has no effect while the environment says 2" in overridden.err
    refused = here("config", "background_compaction_threshold", "0.99")
    assert refused.code == 2 and "must not be above" in refused.err and "Nothing was saved" in refused.err


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"CO_TUI_THEME": "zzz"}, "CO_TUI_THEME"),
        ({"CO_TUI_BACKGROUND_COMPACTION_THRESHOLD": "0.99"}, "must not be above"),
        ({"CO_TUI_MODEL": "anthropic:claude-sonnet-5"}, "ANTHROPIC_API_KEY"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "Is it running?"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "CO_TUI_MODEL": "openai-chat:x"}, "Is it running?"),
    ],
)
def test_doctor_fails_for_what_keeps_a_model_from_answering(here: Here, environ: dict[str, str], sentence: str) -> None:
    here.environ |= environ
    done = here("doctor")
    assert done.code == 1 and sentence in done.err and "Traceback" not in done.err


def test_doctor_is_content_with_a_server_that_answers(served_here: Here) -> None:
    assert served_here("doctor").code == 0
    served_here.environ["CO_TUI_MODEL"] = "openai-chat:another"
    assert "does not serve another" in served_here("doctor").err


async def test_a_changed_setting_holds_from_the_next_request_on(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "hello")
        await type_text(pilot, "/config context_window 9000\n")
        await until(pilot, lambda: "Applies from the next request on." in transcript_text(app))
        await ask(app, pilot, "again")
        assert app.controller.state.usage and app.controller.state.usage.token_limit == 9000
        await type_text(pilot, "/config theme light\n")
        await until(pilot, lambda: app.theme == "co-tui-light")
        await type_text(pilot, "/config model embedded\n")
        await until(pilot, lambda: "It has no effect while the environment says" in transcript_text(app))
        await type_text(pilot, "/config telemetry zz\n")
        await until(pilot, lambda: "telemetry = 'zz' is not allowed" in transcript_text(app))
        await type_text(pilot, "/config telemetry http://127.0.0.1:9/v1/traces\n")
        await until(pilot, lambda: "Applies after a restart." in transcript_text(app))
