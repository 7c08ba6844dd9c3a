"""Asks once whether to trust a folder's own settings, without blocking the conversation."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from textual.app import App

from co_tui.folders import FolderRefused, folder_to_add
from co_tui.inert import one_line
from co_tui.paths import Paths
from co_tui.settings.trust_requests import added_folder_answer, added_folder_request
from co_tui.settings.trust_texts import shown_files, trust_line, unused_text, waiting_instructions_text, waiting_texts
from co_tui.trust import Trust, TrustRequest
from co_tui.ui.approvals.question_bar import QuestionPanel, simple_question
from co_tui.ui.background import run_in_background
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.controller import SessionController
from co_tui.ui.settings.trust_screen import FileScreen, request_text


def ask_for_trust(app: App[Any], chat: ChatScreen, controller: SessionController) -> None:
    """Ask at the first start in a folder whose settings need trust; each set of settings once."""
    wish = controller.launch.loaded.withheld
    if wish is None:
        return
    if Trust(controller.launch.paths.trust_file).was_asked(wish):
        for sentence in waiting_texts(wish):
            chat.feed.note(sentence)
        return
    _ask(app, chat, controller, wish)


async def ask_about_added(
    app: App[Any], chat: ChatScreen, controller: SessionController, folders: Sequence[str]
) -> None:
    """Ask the same about the instructions of folders that are added to a session; each folder once."""
    paths, first = controller.launch.paths, controller.launch.workplace.folder
    for folder in await asyncio.to_thread(_addable, folders, first, paths):
        wish = await asyncio.to_thread(added_folder_request, folder)
        answer = await asyncio.to_thread(added_folder_answer, Trust(paths.trust_file), folder)
        if wish is not None and answer is None:
            _ask(app, chat, controller, wish)
        elif wish is not None and not answer:
            chat.feed.note(waiting_instructions_text(wish))


def _addable(folders: Sequence[str], first: Path, paths: Paths) -> list[Path]:
    """The real paths of those that are not refused."""
    found: list[Path] = []
    for each in folders:
        with suppress(FolderRefused):
            found.append(folder_to_add(each, first, found, paths))
    return found


def _ask(app: App[Any], chat: ChatScreen, controller: SessionController, wish: TrustRequest) -> None:
    def answered(key: str) -> None:
        if key == "v":
            app.push_screen(FileScreen(wish))
            return
        chat.end_question(panel)
        take = partial(_take_answer, app, chat, controller, wish, key == "t")
        run_in_background(app, "Trusting the folder", take, group="trust")

    has = "settings" if wish.by_file else wish.lists[0].replace("commands", "slash commands")
    title = f"{one_line(wish.folder, 60)} has its own {has}"
    answers = {
        "t": "Trust this folder",
        "v": "View the file" if len(shown_files(wish)) < 2 else "View the files",
        "esc": "Not now",
    }
    panel = QuestionPanel(simple_question(title, request_text(wish), answers)._replace(waits=True), answered)
    chat.show_question(panel)


async def _take_answer(
    app: App[Any], chat: ChatScreen, controller: SessionController, wish: TrustRequest, trusted: bool
) -> None:
    """Remember the answer; trusted settings apply to new sessions."""
    launch = controller.launch
    try:
        Trust(launch.paths.trust_file).remember(wish, trusted=trusted)
    except OSError as error:
        chat.feed.note(f"Cannot save this answer: {error.strerror or error}.", "error")
        return
    if not trusted:
        chat.feed.note(f"Not trusted. You can run `{trust_line(wish)}` later.")
        return
    if wish.is_added:
        chat.feed.note("Trusted. Its instructions count from the next prompt on.")
        return
    loaded = launch.reloaded()
    await controller.settings.renew(loaded)
    for problem in (*loaded.problems, *loaded.folder_problems):
        chat.feed.note(problem, "error")
    chat.feed.note(_trusted_text(wish))
    if unused := unused_text(wish.files):
        chat.feed.note(unused)
    if wish.values("add_dirs"):
        await ask_about_added(app, chat, controller, loaded.settings.add_dirs)


def _trusted_text(wish: TrustRequest) -> str:
    """When what was trusted takes effect: slash commands at once, the rest in new sessions."""
    if wish.by_file or wish.agents:
        return "Trusted. Applies to new sessions; theme and telemetry after a restart."
    return "Trusted. Its slash commands can be used now." if wish.commands else "Trusted. Its instructions count now."
