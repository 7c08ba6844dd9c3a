"""Images get into the prompt: from the clipboard through a helper program, and as the path of a dropped file."""

from pathlib import Path
from urllib.parse import quote

import pytest
from textual import events

from co_tui.events.images import MOST_IMAGE_BYTES
from co_tui.ui.prompt.pasting import MAX_KEPT, PastedImages, dropped_images
from co_tui.ui.terminal import clipboard_image
from co_tui.ui.terminal.clipboard_image import ClipboardTrouble, clipboard_helper, read_image
from tests.session.test_attachments import png
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, screen_text, until

X11 = {"DISPLAY": ":0", "OPENAI_API_KEY": "sk-1234567890"}


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def image_program(folder: Path, name: str, data: bytes) -> None:
    """Answers as xclip and wl-paste do for an image in the clipboard."""
    program(
        folder, name, f'case "$*" in *TARGETS*|*list-types*) echo text/plain image/png;; *) cat {folder}/data;; esac'
    )
    (folder / "data").write_bytes(data)


def environ_with(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": f"{folder}:/usr/bin:/bin", **more}


@pytest.mark.parametrize(("name", "desktop"), [("xclip", X11), ("wl-paste", {"WAYLAND_DISPLAY": "w", **X11})])
def test_an_image_is_read_with_the_desktops_program(tmp_path: Path, name: str, desktop: dict[str, str]) -> None:
    image_program(tmp_path / "bin", name, png())
    helper = clipboard_helper(environ_with(tmp_path / "bin", **desktop), Path("/elsewhere"), "linux")
    assert helper.name == name and "OPENAI_API_KEY" not in helper.environ
    assert read_image(helper) == png()


@pytest.mark.parametrize(
    ("name", "platform", "prints"),
    [
        ("pngpaste", "darwin", "cat {}"),
        ("osascript", "darwin", "printf '«data PNGf'; od -An -v -tx1 {} | tr -d ' \\n'; echo '»'"),
        ("powershell.exe", "linux", "base64 -w0 {}"),
    ],
)
def test_other_systems_programs_are_understood(tmp_path: Path, name: str, platform: str, prints: str) -> None:
    (tmp_path / "data").write_bytes(png())
    program(tmp_path / "bin", name, prints.format(tmp_path / "data"))
    environ = environ_with(tmp_path / "bin", WSL_DISTRO_NAME="Ubuntu")
    assert read_image(clipboard_helper(environ, Path("/elsewhere"), platform)) == png()


def test_without_a_program_or_a_desktop_one_sentence_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ClipboardTrouble, match="install wl-clipboard or xclip;"):
        clipboard_helper({"PATH": str(tmp_path), "WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, tmp_path, "linux")
    with pytest.raises(ClipboardTrouble, match="attach it with @"):
        clipboard_helper({"PATH": str(tmp_path)}, tmp_path, "linux")
    program(tmp_path / "bin", "xclip", "true")
    with pytest.raises(ClipboardTrouble, match="install xclip"):  # a program of the folder is never run
        clipboard_helper({"PATH": str(tmp_path / "bin"), **X11}, tmp_path, "linux")


def test_what_is_too_long_too_late_or_no_image_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image_program(tmp_path / "bin", "xclip", png() + bytes(MOST_IMAGE_BYTES))
    helper = clipboard_helper(environ_with(tmp_path / "bin", **X11), Path("/elsewhere"), "linux")
    with pytest.raises(ClipboardTrouble, match="over 5 MB"):
        read_image(helper)
    image_program(tmp_path / "bin", "xclip", b"no image")
    with pytest.raises(ClipboardTrouble, match="not a readable"):
        read_image(helper)
    program(tmp_path / "bin", "xclip", "echo text/plain")
    assert read_image(helper) is None
    monkeypatch.setattr(clipboard_image, "LONGEST_S", 0.1)
    program(tmp_path / "bin", "xclip", "sleep 600")
    with pytest.raises(ClipboardTrouble, match="did not answer"):
        read_image(helper)


def test_a_dropped_image_is_known_however_the_terminal_writes_its_path(tmp_path: Path) -> None:
    shot, other = tmp_path / "my 'shot' (1).png", tmp_path / "b.JPG"
    shot.write_bytes(png())
    other.write_bytes(png())
    escaped = str(shot).replace(" ", "\\ ").replace("'", "\\'").replace("(", "\\(").replace(")", "\\)")
    for pasted in (str(shot), f'"{shot}"', escaped, f"file://{quote(str(shot))}", f" {escaped} \n"):
        assert dropped_images(pasted) == [shot], pasted
    assert dropped_images(f"{escaped} '{other}'") == [shot, other]


def test_any_other_paste_stays_text(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"no image")
    (tmp_path / "b.png").write_bytes(png())
    (tmp_path / "c.txt").write_bytes(png())
    for pasted in (
        f"{tmp_path}/a.png", f"{tmp_path}/c.txt", f"look at {tmp_path}/b.png", f"{tmp_path}/gone.png", "b.png",
        f"file://other{tmp_path}/b.png", f"'{tmp_path}/b.png", "/" + "a" * 5000 + ".png", "/\0.png", "~nobody/b.png",
    ):  # fmt: skip
        assert dropped_images(pasted) == [], pasted


def test_an_image_goes_with_the_text_that_has_its_marker() -> None:
    images = PastedImages()
    (first, _), (second, _) = images.add(b"1"), images.add(b"2")
    assert [(each.name, each.data) for each in images.in_text(f"{second} and {second} [image 9]")] == [
        ("image 2", b"2")
    ]
    assert images.marker_before(f"see {first}") == first
    for _ in range(MAX_KEPT):
        images.add(b"x")
    assert images.in_text(first) == ()


def test_the_image_dropped_for_another_is_one_that_the_text_does_not_name() -> None:
    images = PastedImages()
    text = "".join(images.add(bytes([n]))[0] for n in range(MAX_KEPT - 1))
    unnamed, _ = images.add(b"unnamed")
    added, gone = images.add(b"eleventh", [text])
    assert gone == unnamed and images.missing_from(text + added) == ()
    assert images.add(b"twelfth", [text + added])[1] == "[image 1]"  # all are named: the first goes


async def test_the_eleventh_image_of_a_prompt_says_that_the_first_goes(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        prompt = app.chat.prompt
        for _ in range(MAX_KEPT + 1):
            prompt.attach_image(png())
        await until(pilot, lambda: any("[image 1] goes" in str(each.message) for each in app._notifications))
        await pilot.press("enter")
        await until(pilot, lambda: "[image 1] is no longer here" in screen_text(app))
        assert not provider.requests
        await pilot.press("enter")
        await until(pilot, lambda: len(provider.requests) == 1)
        content = provider.requests[0]["messages"][-1]["content"]
        assert [each["type"] for each in content].count("image_url") == MAX_KEPT


async def test_a_marker_names_no_other_image_after_a_restart(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        app.chat.prompt.attach_image(png())
        await pilot.press("enter")
        await until(pilot, lambda: len(provider.requests) == 1)
    async with running(launch_for(home, provider)) as (app, pilot):
        prompt = app.chat.prompt
        await until(pilot, lambda: prompt._past)
        prompt.attach_image(png() + b"another")
        await until(pilot, lambda: prompt.text == "[image 2] ")
        prompt.clear()
        await pilot.press("up")
        assert prompt.text == "[image 1] "
        await pilot.press("enter")
        await until(pilot, lambda: "[image 1] is no longer here: paste it again." in screen_text(app))
        assert prompt.text == "[image 1] " and len(provider.requests) == 1


async def test_pasted_and_dropped_images_are_sent_with_the_prompt(home: Path, provider: Provider) -> None:
    image_program(home.parent.parent / f"bin-{home.parent.name}", "xclip", png())
    home.parent.joinpath("shot.png").write_bytes(png())
    bin_folder = home.parent.parent / f"bin-{home.parent.name}"
    launch = launch_for(home, provider, environ=environ_with(bin_folder, DISPLAY=":0"))
    async with running(launch) as (app, pilot):
        prompt = app.chat.prompt
        await pilot.press("ctrl+v")
        await until(pilot, lambda: prompt.text == "[image 1] ")
        prompt.insert("and")
        prompt.post_message(events.Paste(f"'{home.parent}/shot.png'"))
        await until(pilot, lambda: prompt.text == "[image 1] and @shot.png ")
        await pilot.press("enter")
        await until(pilot, lambda: len(provider.requests) == 1)
        content = provider.requests[0]["messages"][-1]["content"]
        assert [each["type"] for each in content].count("image_url") == 2
        assert content[0]["text"] == "[image 1] and @shot.png "


async def test_without_an_image_what_was_copied_here_is_pasted(home: Path) -> None:
    async with running(launch_for(home)) as (app, pilot):
        await pilot.press("ctrl+v")
        await until(pilot, lambda: any("Nothing to paste" in str(each.message) for each in app._notifications))
        app.copy_to_clipboard("copied")
        await pilot.press("ctrl+v")
        await until(pilot, lambda: app.chat.prompt.text == "copied")
