"""The only file that uses private names of Textual and Rich: none of them has a public equivalent.

`INTERNALS` lists each name with the reason, `CHECKED` the versions it was checked with. `test_textual_internals.py`
fails when an upgrade removes or changes one, and when another file uses a private name.

Overrides are mixins that put a public hook in front of a private method. At run time they inherit from `object`, so
that importing this file loads no widget or driver.
"""

import contextlib
import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, wraps
from inspect import unwrap
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO, cast

from textual._animator import Animator
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate
from textual._xterm_parser import XTermParser
from textual.cache import LRUCache
from textual.events import Event, Key
from textual.geometry import Region, Size

if TYPE_CHECKING:
    from markdown_it.token import Token
    from rich.console import Console, RenderableType
    from rich.markdown import Markdown
    from rich.style import Style
    from textual._compositor import CompositorMap, ReflowResult
    from textual.app import App
    from textual.binding import BindingsMap
    from textual.dom import DOMNode
    from textual.driver import Driver
    from textual.drivers.linux_driver import LinuxDriver
    from textual.drivers.web_driver import WebDriver
    from textual.filter import LineFilter
    from textual.message import Message
    from textual.screen import Screen
    from textual.scroll_view import ScrollView
    from textual.strip import Strip
    from textual.widget import Widget
    from textual.widgets import OptionList, TextArea

    AnyApp = App[Any]
    AnyScreen = Screen[Any]
else:
    AnyApp = AnyScreen = LinuxDriver = Markdown = OptionList = ScrollView = TextArea = object

MOST_BLINKS: Final = 20
MOST_STYLES: Final = 1_024
MOST_DRAWN_OPTIONS: Final = 256
_STRIP_METHODS: Final = ("adjust_cell_length", "crop_extend", "divide")
CHECKED: Final = {"textual": "8.2.8", "rich": "15.0.0"}


class Internal(NamedTuple):
    """A private name, and why it is used."""

    owner: str
    """`module:class`, or a module."""
    name: str
    reason: str
    parameters: str | None = None
    """Parameter names of a method; None for anything else."""


INTERNALS: Final = (
    Internal("textual.app:App", "_driver", "Alerts are escape sequences; the driver is not public."),
    Internal("textual.app:App", "_exit", "Errors after `exit` are ignored; `return_code` is also set by errors."),
    Internal("textual.app:App", "_exception", "The error that ends the app."),
    Internal("textual.app:App", "_exit_renderables", "Text printed after the app; `exit` and `panic` end it at once."),
    Internal("textual.app:App", "_handle_exception", "Survive a failed worker.", "self error"),
    Internal("textual.app:App", "_fatal_error", "Textual prints all local variables, API keys included.", "self"),
    Internal(
        "textual.app:App",
        "_dispatch_action",
        "Survive a failed action; know of those under way.",
        "self namespace action_name params",
    ),
    Internal("textual.app:App", "_display", "Leave out frames of an old size.", "self screen renderable"),
    Internal("textual.app:App", "_check_bindings", "Run a key's binding before the next key.", "self key priority"),
    Internal("textual.app:App", "_refresh_truecolor_filter", "Set the theme without parsing CSS twice.", "self theme"),
    Internal("textual.app:App", "_filters", "`NO_COLOR` removes all colours; Textual's filter keeps greys."),
    Internal("textual.app:App", "_animator", "`animator` is read-only."),
    Internal("textual.app:App", "_animate", "The animator's bound method, cached by the app."),
    Internal("textual.app:App", "_last_focused_on_app_blur", "What has the focus, while the terminal has none."),
    Internal("textual._animator", "Animator", "Subclassed: a step that ends another animation raises KeyError."),
    Internal("textual._animator:Animator", "_animations", "To tell that KeyError from others."),
    Internal("textual.dom:DOMNode", "_bindings", "Bindings per instance; a keymap is global, and not for the prompt."),
    Internal("textual.dom:DOMNode", "_pruning", "A node being removed is still attached; its children may be gone."),
    Internal("textual.widget:Widget", "_forward_event", "Send keys to a widget as if they were typed.", "self event"),
    Internal("textual.screen:Screen", "_forward_event", "Ignore clicks on a widget being removed.", "self event"),
    Internal("textual.screen:Screen", "_screen_resized", "Fit before a frame at a new size is drawn.", "self size"),
    Internal(
        "textual.scroll_view:ScrollView",
        "_size_updated",
        "The same; the event comes after that frame.",
        "self size virtual_size container_size layout",
    ),
    Internal("textual.widget:Widget", "_scroll_to", "Notice a reader who scrolls up at the very top."),
    Internal("textual.screen:Screen", "_compositor_refresh", "Measure what a frame costs; leave some out.", "self"),
    Internal("textual.screen:Screen", "_dirty_widgets", "What such a frame would have drawn."),
    Internal("textual.screen:Screen", "_compositor", "Replaced by ours."),
    Internal("textual._compositor", "Compositor", "Subclassed: it draws every widget for each change of one."),
    Internal("textual._compositor", "CompositorUpdate", "Write a frame out before it is known whether it is left out."),
    Internal("textual._compositor:Compositor", "_get_renders", "Only what is in the part to draw.", "self crop"),
    Internal("textual._compositor:Compositor", "_dirty_regions", "The parts to draw; all of them at a new size."),
    Internal("textual._compositor:Compositor", "_full_map", "A lookup replaces it; what is new then counts as known."),
    Internal("textual.widget:Widget", "_scroll_update", "Resize the scroll bar without a layout.", "self virtual_size"),
    Internal(
        "textual.message_pump:MessagePump", "_dispatch_message", "Late messages to a closed screen.", "self message"
    ),
    Internal("textual.screen:Screen", "_invoke_and_clear_callbacks", "The same for late callbacks.", "self"),
    Internal(
        "textual.widgets._text_area:TextArea", "_recompute_cursor_offset", "Undo can leave it on no line.", "self"
    ),
    Internal("textual.widgets._text_area:TextArea", "_set_document", "Use our document.", "self text language"),
    Internal("textual.widgets._text_area:TextArea", "_rewrap_and_refresh_virtual_size", "And wrap it.", "self"),
    Internal("textual.widgets._text_area:TextArea", "_restart_blink", "Blink again after a key.", "self"),
    Internal("textual.widgets._text_area:TextArea", "_toggle_cursor_blink_visible", "Stop blinking when idle.", "self"),
    Internal("textual.widgets._text_area:TextArea", "_cursor_visible", "And leave it visible."),
    Internal("textual.widgets._option_list:OptionList", "_option_render_cache", "It keeps 2,048 drawn rows."),
    Internal("textual.widgets._option_list:OptionList", "_update_lines", "Once for all lines of a frame.", "self"),
    Internal("textual._xterm_parser", "XTermParser", "Subclassed: terminal replies are not keys."),
    Internal("textual._xterm_parser:XTermParser", "_sequence_to_key_events", "Add keys.", "self sequence alt"),
    Internal("textual._parser:Parser", "_timeout_time", "Whether it waits for the rest of a sequence."),
    Internal("textual.drivers.linux_driver", "XTermParser", "The input loop has no hook for its parser."),
    Internal("textual.drivers.linux_driver", "getincrementaldecoder", "Nor for its decoder, which fails on bad bytes."),
    Internal("textual.drivers.linux_driver", "selectors", "Nor for its wait, which ends ten times a second."),
    Internal("textual.drivers.web_driver", "XTermParser", "As for the Linux driver."),
    Internal("textual.drivers.linux_driver:LinuxDriver", "_file", "Output survives a terminal that is gone."),
    Internal("textual.drivers.linux_driver:LinuxDriver", "_writer_thread", "Whether the screen is the app's."),
    Internal("textual.drivers._writer_thread:WriterThread", "_queue", "Release writers to a terminal that is gone."),
    Internal("textual.drivers.linux_driver:LinuxDriver", "_must_signal_resume", "Announce the return from a stop."),
    Internal("textual.drivers.linux_driver:LinuxDriver", "_sigtstp_application", "Stop the process group.", "self _"),
    Internal("textual.drivers.linux_driver:LinuxDriver", "_sigcont_application", "Continue after SIGSTOP.", "self _"),
    Internal("textual.drivers.linux_driver:LinuxDriver", "_get_terminal_size", "It is reported late.", "self"),
    Internal("textual.driver:Driver", "_auto_restart", "False while another program has the terminal."),
    Internal("textual.drivers.web_driver:WebDriver", "_write", "Output survives a server that is gone."),
    Internal("rich.markdown:Markdown", "_flatten_tokens", "Add each link's address.", "self tokens"),
    Internal("rich._unicode_data", "load", "The table of widths; asking for each is slow.", "unicode_version"),
)


def limit_caches() -> None:
    """Keep the codes of fewer styles. Textual keeps 16,384; each line's position makes its style a new one, so they
    took 12 MB after a few hundred turns."""
    from textual.strip import Strip

    render = Strip.render_ansi.__func__.__wrapped__  # type: ignore[attr-defined]  # cached, then a class method
    limited: Any = lru_cache(MOST_STYLES)(render)
    Strip.render_ansi = classmethod(limited)  # type: ignore[method-assign, assignment]


def free_strips_at_once() -> None:
    """Let no strip keep itself among its results: a line that already fits would wait for the garbage collector, with
    its seven caches. That was most of the garbage of a long session."""
    from textual.strip import Strip

    adjust, extend, divide = (unwrap(getattr(Strip, name)) for name in _STRIP_METHODS)

    @wraps(adjust)
    def adjusted(strip: "Strip", cell_length: int, style: "Style | None" = None) -> "Strip":
        return strip if cell_length == strip.cell_length else adjust(strip, cell_length, style)

    @wraps(extend)
    def extended(strip: "Strip", start: int, end: int, style: "Style | None") -> "Strip":
        return strip if (start, end) == (0, strip.cell_length) else extend(strip, start, end, style)

    @wraps(divide)
    def divided(strip: "Strip", cuts: Iterable[int]) -> "Sequence[Strip]":
        cuts = [cut for cut in cuts if cut <= strip.cell_length]
        return [strip] if cuts == [strip.cell_length] else divide(strip, cuts)

    for name, method in zip(_STRIP_METHODS, (adjusted, extended, divided), strict=True):
        setattr(Strip, name, method)


def limit_drawn_options(options: "OptionList") -> None:
    """Keep few of the rows that were drawn: each takes some kilobytes, and a screen shows less than a hundred."""
    options._option_render_cache = LRUCache(maxsize=MOST_DRAWN_OPTIONS)


class OptionListInternals(OptionList):
    """Looks for new options once for all lines that are drawn; Textual does so for each of them."""

    is_drawing = False

    def render_lines(self, crop: Region) -> "list[Strip]":
        self._update_lines()
        self.is_drawing = True
        try:
            return super().render_lines(crop)
        finally:
            self.is_drawing = False

    def _update_lines(self) -> None:
        if not self.is_drawing:
            super()._update_lines()


# App


class WrittenUpdate(CompositorUpdate):
    """A frame as it is written to the terminal."""

    def __init__(self, sequence: str) -> None:
        self.sequence = sequence

    def render_segments(self, console: "Console") -> str:
        return self.sequence


class AppInternals(AnyApp):
    """Hooks for errors in the app, and for its frames."""

    def may_draw(self) -> bool:
        """Whether a frame reaches the terminal."""
        return True

    def adapted(self, size: Size) -> bool:
        """Called before the current screen adapts to a size: whether it draws all of it, changed or not."""
        return False

    def _display(self, screen: "AnyScreen", renderable: "RenderableType | None") -> None:
        if isinstance(renderable, CompositorUpdate) and not self.is_headless:
            renderable = WrittenUpdate(renderable.render_segments(self.console))  # takes most of the time
        if renderable is None or self.may_draw():
            super()._display(screen, renderable)

    def survives(self, error: Exception) -> bool:
        """Whether the app continues after an unhandled error."""
        return False

    def survives_action(self, error: Exception) -> bool:
        """Whether the app continues after an error in an action."""
        return False

    def crash(self, error: Exception | None) -> None:
        """End the app after an unhandled error."""

    def _handle_exception(self, error: Exception) -> None:
        if not self.survives(error):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        self.crash(self._exception)

    actions_under_way = 0
    """Actions that were begun and wait for something."""

    async def _dispatch_action(self, namespace: "DOMNode", action_name: str, params: Any) -> bool:
        self.actions_under_way += 1
        try:
            return await super()._dispatch_action(namespace, action_name, params)
        except Exception as error:
            if not self.survives_action(error):
                raise
            return True
        finally:
            self.actions_under_way -= 1


def is_exiting(app: "AnyApp") -> bool:
    """Whether `exit` was called."""
    return app._exit


def driver_of(app: "AnyApp") -> "Driver | None":
    return app._driver


def print_after_exit(app: "AnyApp", message: "RenderableType") -> None:
    """Print a message once the app has ended."""
    app._exit_renderables.append(message)


async def run_binding(app: "AnyApp", key: str) -> bool:
    """Run the binding of a key at once; False when it has none."""
    return await app._check_bindings(key)


def replace_line_filters(app: "AnyApp", replace: "Callable[[Sequence[LineFilter]], Sequence[LineFilter]]") -> None:
    """Filter drawn lines by other filters."""
    app._filters[:] = replace(app._filters)


def refresh_ansi_filter(app: "AnyApp") -> None:
    """Adapt the conversion of ANSI colours to the current theme."""
    app._refresh_truecolor_filter(app.ansi_theme)


def terminal_size(app: "AnyApp") -> Size | None:
    """The terminal's size now, before it is reported to the app; None without a terminal."""
    driver = app._driver
    return Size(*driver._get_terminal_size()) if isinstance(driver, LinuxDriverInternals) else None


class SteadyAnimator(Animator):
    """Survives an animation step that ends another animation: Textual then fails with a KeyError."""

    def __call__(self) -> None:
        under_way = list(self._animations)
        try:
            super().__call__()
        except KeyError as missed:
            if missed.args[:1] not in [(key,) for key in under_way]:
                raise


def use_steady_animator(app: "AnyApp") -> None:
    app._animator = SteadyAnimator(app)
    app._animate = app._animator.bind(app)


# Screens and widgets


class ScreenInternals(AnyScreen):
    """Hooks for what a screen receives."""

    def guarding(self) -> AbstractContextManager[None]:
        """Surrounds the handling of each message and callback."""
        return nullcontext()

    def accepts(self, event: Event) -> bool:
        """Whether an event from the terminal is handled."""
        return True

    def drawing(self) -> AbstractContextManager[None]:
        """Surrounds the drawing of each frame."""
        return nullcontext()

    def _compositor_refresh(self) -> None:
        if self.app.screen is self and isinstance(self.app, AppInternals) and not self.app.may_draw():
            self._dirty_widgets.clear()
            return
        with self.drawing():
            super()._compositor_refresh()

    def fit(self, size: Size) -> None:
        """Adapt to a new size, before anything is drawn at it."""

    def _screen_resized(self, size: Size) -> None:
        if self.app.screen is self and isinstance(self.app, AppInternals) and self.app.adapted(size):
            self._compositor._dirty_regions.add(size.region)
        self.fit(size)
        super()._screen_resized(size)

    async def _dispatch_message(self, message: "Message") -> None:
        with self.guarding():
            await super()._dispatch_message(message)

    async def _invoke_and_clear_callbacks(self) -> None:
        with self.guarding():
            await super()._invoke_and_clear_callbacks()

    def _forward_event(self, event: Event) -> None:
        if self.accepts(event):
            super()._forward_event(event)


class ScrollViewInternals(ScrollView):
    """Hooks for a new size, and for a reader who wants to see what is above the top."""

    def sized(self) -> None:
        """Called with every layout, before anything is drawn at its sizes."""

    def held_at_top(self) -> None:
        """Called when there is nothing to scroll up to."""

    def _scroll_to(self, x: float | None = None, y: float | None = None, **options: Any) -> bool:
        is_moved = super()._scroll_to(x, y, **options)
        if y is not None and y <= 0 and not is_moved and not self.scroll_y:
            self.held_at_top()
        return is_moved

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        is_new = super()._size_updated(size, virtual_size, container_size, layout)
        self.sized()
        return is_new


class LeanCompositor(Compositor):
    """Draws only the widgets and rows that are seen in the parts of the screen to draw; Textual draws all of them.

    Every new widget gets its Resize: Textual sends none if a position is looked up between mount and layout.
    """

    parts: tuple[Region, ...] = ()
    laid_out: "CompositorMap | None" = None

    def reflow(self, parent: "Widget", size: Size) -> "ReflowResult":
        if self.laid_out is not None:
            self._full_map = self.laid_out
        result = super().reflow(parent, size)
        self.laid_out = self._full_map
        return result

    def render_partial_update(self) -> "ChopsUpdate | None":
        self.parts = tuple(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self.parts = ()

    def _get_renders(self, crop: Region | None = None) -> "Iterator[tuple[Region, Region, list[Strip]]]":
        screen = self.size.region
        uncovered = [part.intersection(screen) for part in self.parts] or [crop or screen]
        for widget, (region, clip) in self.visible_widgets.items():  # the foremost first
            seen = region.intersection(clip)
            needed = [part for each in uncovered if (part := seen.intersection(each))]
            is_covered = bool(needed)
            for rows in dict.fromkeys(Region(0, each.y, screen.width, each.height) for each in needed):
                shown = seen.intersection(rows).translate((-region.x, -region.y))
                lines = widget.render_lines(shown)
                # One that just appeared, or is being removed, has lines of another size.
                is_covered = is_covered and [line.cell_length for line in lines] == [shown.width] * shown.height
                yield region, clip.intersection(rows), lines
            if is_covered:
                uncovered = [rest for each in uncovered for rest in _around(seen, each)]


def _around(covered: Region, region: Region) -> list[Region]:
    """What is left of a region, some of which is covered: above it, below it, and at its sides."""
    x, y, right, bottom = region.corners
    covered = covered.intersection(region)
    if not covered:
        return [region]
    left_x, top_y, right_x, bottom_y = covered.corners
    rest = (
        Region.from_corners(x, y, right, top_y),
        Region.from_corners(x, bottom_y, right, bottom),
        Region.from_corners(x, top_y, left_x, bottom_y),
        Region.from_corners(right_x, top_y, right, bottom_y),
    )
    return [each for each in rest if each]


def use_lean_compositor(screen: "AnyScreen") -> None:
    screen._compositor = LeanCompositor()


class TextAreaInternals(TextArea):
    """Undo may remove the line that the cursor is still on; without keys, the cursor stops blinking after a while."""

    blinks = 0

    def use_document(self, text: str) -> None:
        """Replace the document."""

    def _set_document(self, text: str, language: str | None) -> None:
        super()._set_document("", language)
        self.use_document(text)
        self._rewrap_and_refresh_virtual_size()

    def _restart_blink(self) -> None:
        self.blinks = 0
        super()._restart_blink()

    def _toggle_cursor_blink_visible(self) -> None:
        super()._toggle_cursor_blink_visible()
        self.blinks += 1
        if self.blinks > MOST_BLINKS and self._cursor_visible:
            self.blink_timer.pause()

    def _recompute_cursor_offset(self) -> None:
        with contextlib.suppress(ValueError):  # the same step moves the cursor afterwards
            super()._recompute_cursor_offset()  # type: ignore[no-untyped-call]  # Textual gives it no types


def forward_event(widget: "Widget", event: Event) -> None:
    """Send a key or paste to a widget as if it had the focus."""
    widget._forward_event(event)


def bindings_of(node: "DOMNode") -> "BindingsMap":
    """The node's own bindings; changes apply to this instance."""
    return node._bindings


def focused_here_or_elsewhere(screen: "AnyScreen") -> "Widget | None":
    """What has the focus, or gets it back once the terminal has it again."""
    return screen.focused or screen.app._last_focused_on_app_blur


def is_being_removed(node: "DOMNode") -> bool:
    """Whether it is leaving the screen: still attached, but its children may be gone."""
    return node._pruning


def set_bindings(node: "DOMNode", bindings: "BindingsMap") -> None:
    node._bindings = bindings


def update_scroll_bar(widget: "Widget", virtual_size: "Size") -> None:
    """Show another virtual size without laying out the screen."""
    widget._scroll_update(virtual_size)


# Drivers


class ParserInternals(XTermParser):
    """A hook for the keys of an escape sequence."""

    @property
    def awaits_more(self) -> bool:  # an unfinished sequence ends by time
        return self._timeout_time is not None

    def translate(self, sequence: str, usual: Callable[[], Iterable[Key]]) -> Iterable[Key]:
        """The keys of a sequence; `usual` returns Textual's."""
        return usual()

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        inherited = super()._sequence_to_key_events
        return self.translate(sequence, lambda: inherited(sequence, alt))


def set_parser(driver_module: ModuleType, make_parser: Callable[..., XTermParser]) -> None:
    """Let a driver's input loop create its parser this way."""
    setattr(driver_module, "XTermParser", make_parser)  # noqa: B010


def set_used(driver_module: ModuleType, name: str, part: object) -> None:
    """Let a driver's input loop use this part: `getincrementaldecoder` or `selectors`."""
    setattr(driver_module, name, part)


class LinuxDriverInternals(LinuxDriver):
    """Access to output and job control."""

    @property
    def has_screen(self) -> bool:
        """False while another program has the terminal."""
        return self._auto_restart

    @property
    def is_writing(self) -> bool:
        """Whether output reaches the terminal."""
        return self._writer_thread is not None

    def wrap_output(self, wrap: Callable[[TextIO], object]) -> None:
        self._file = cast(Any, wrap(cast(TextIO, self._file)))

    def drop_pending_output(self) -> None:
        """Release writers that are blocked by a full queue."""
        if self._writer_thread is not None:
            with contextlib.suppress(queue.Empty):
                while True:
                    self._writer_thread._queue.get_nowait()

    def forget_writer(self) -> None:
        self._writer_thread = None

    def announce_resume(self) -> None:
        """Publish `app_resume_signal` with the next start."""
        self._must_signal_resume = True

    def stop_requested(self) -> None: ...

    def continued(self) -> None: ...

    def _sigtstp_application(self, *_: Any) -> None:
        self.stop_requested()

    def _sigcont_application(self, *_: Any) -> None:
        self.continued()


def set_web_output(driver: "WebDriver", write: Callable[[bytes], int]) -> None:
    driver._write = cast(Any, write)


# Rich


class MarkdownInternals(Markdown):
    """A hook for the tokens of Markdown."""

    def flatten(self, tokens: "Iterable[Token]") -> "Iterator[Token]":
        """Tokens in reading order."""
        raise NotImplementedError

    def _flatten_tokens(self, tokens: "Iterable[Token]") -> "Iterable[Token]":
        return self.flatten(tokens)


def cell_widths() -> "Sequence[tuple[int, int, int]]":
    """Ranges of code points that do not take one cell: first, last, cells."""
    from rich._unicode_data import load

    return load("auto").widths
