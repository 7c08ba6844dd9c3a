"""What others import from `co_tui.events`."""

from co_tui.events.event import Event as Event
from co_tui.events.event import decode as decode
from co_tui.events.event import encode as encode
from co_tui.events.event import event_json as event_json
from co_tui.events.event import from_json as from_json
from co_tui.events.facts import Fact as Fact
from co_tui.events.facts import Unknown as Unknown
from co_tui.events.facts import agent_of as agent_of
from co_tui.events.facts import is_durable as is_durable
from co_tui.events.facts.agents import *
from co_tui.events.facts.base import Announced as Announced
from co_tui.events.facts.base import Json as Json
from co_tui.events.facts.base import Occurrence as Occurrence
from co_tui.events.facts.base import Ref as Ref
from co_tui.events.facts.board import *
from co_tui.events.facts.context import *
from co_tui.events.facts.conversation import *
from co_tui.events.facts.files import *
from co_tui.events.facts.life import *
