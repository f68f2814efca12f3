"""Counting a whole request: every part by its rule, with bounds, and a warning for each that no rule covers."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from adapters.port import Stop, well_formed
from service.domain.amounts import NONE, Amount, fixed, total
from service.domain.catalog import Accuracy
from service.domain.counting import Breakdown, Count, Scale, literal_notices
from service.domain.errors import ChatNotRendered
from service.domain.media import LARGEST_WINDOW, sealed, unseen, unsupported
from service.domain.notices import Notice
from service.domain.request import (
    Audio,
    Document,
    Image,
    Message,
    Part,
    Reasoning,
    Request,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    Unseen,
    Video,
)
from service.domain.rulebook import Rules
from service.domain.templates import Rendering
from service.domain.tools import hosted

_MOST_NOTICES = 200
_SYSTEM = ("system", "developer")
_MESSAGES = {
    "remote_image": "The picture is at a URL, which is not fetched: it counts as the most that its detail allows.",
    "image_size_unknown": "The picture's size cannot be read: it counts as the most that its detail allows.",
    "image_rule_unknown": "No rule is published for this model's pictures: `low` and `high` are far apart.",
    "remote_media": "The file is at a URL, which is not fetched: only the context window bounds it.",
    "file_not_included": "The file is kept by the vendor and not in the request: only the context window bounds it.",
    "history_not_included": "Earlier turns are kept by the vendor and not in the request: only the context window "
    "bounds them.",
    "cache_not_included": "Cached content is kept by the vendor and not in the request: only the context window "
    "bounds it.",
    "prompt_not_included": "The prompt is kept by the vendor, not in the request: only the context window bounds it.",
    "tools_not_included": "The tools of a server are fetched by the vendor: only the context window bounds them.",
    "media_length_unknown": "The recording's length cannot be read: `low` and `high` are far apart.",
    "document_pages_unknown": "The document's pages cannot be counted: `low` and `high` are far apart.",
    "tools_not_in_template": "The model's chat template shows no tools: they are counted by a rule, with room below.",
    "left_out_by_template": "The model's chat template does not show this text here: only `high` holds it.",
    "template_ignored": "This model is not counted by a chat template: the one sent is left aside.",
    "unsupported_part": "A block of this type has no rule: it is counted as its JSON text, with room on both sides.",
    "unsupported_tool": "A tool of this type has no rule: it is counted as its JSON text, with room above.",
}


def count_request(
    scale: Scale,
    request: Request,
    rules: Rules,
    *,
    window: int | None = None,
    renderer: Rendering | None = None,
    stop: Stop | None = None,
) -> Count:
    """Count ``request`` on ``scale`` by ``rules``. ``window`` is the model's context window, where it is known.

    The answer is no surer than its least sure part. Adding a message, a part or a tool never lowers it. Raises
    ``DeadlineExceeded``, and what ``renderer`` raises.
    """
    tally = _Tally(scale, rules, stop)
    for message in request.messages:
        tally.message(message)
    thinking = request.thinking is not None and request.thinking.mode == "enabled"
    tally.framing.append(rules.frame.once(thinking=thinking))
    tally.tools.append(_tools(tally, request))
    templated = renderer is not None and rules.frame.template and tally.render(renderer, request)
    if not templated:
        tally.less += max(0, rules.frame.low - rules.frame.request)  # some are billed less than their texts take
    if request.template is not None and not templated:
        tally.warn("template_ignored", "chat_template")
    return tally.count(request, window)


class _Tally:
    """Adds up a request's parts, and gathers what its sender should know."""

    def __init__(self, scale: Scale, rules: Rules, stop: Stop | None) -> None:
        self.scale = scale
        self.rules = rules
        self.text: list[Amount] = []
        self.framing: list[Amount] = []
        self.tools: list[Amount] = []
        self.media: list[Amount] = []
        self.notices: list[Notice] = []
        self.characters = 0
        self.utf8_bytes = 0
        self.less = 0  # tokens that the whole may lie below the sum of its parts' lows
        self._spoken = False
        self._stop = stop
        self._words: dict[str, Amount] = {}

    def weigh(self, text: str) -> Amount:
        """What one text takes on the scale; each text is counted once, for roles and names come again and again."""
        known = self._words.get(text)
        if known is None:
            ordinary = well_formed(text)
            counted = self.scale.tokenizer.count(ordinary, stop=self._stop)
            estimator = self.scale.estimator
            known = Amount(*estimator.bounds(counted, ordinary)) if estimator else fixed(counted)
            self._words[text] = known
        return known

    def say(self, text: str, path: str) -> Amount:
        """Add a text of the sender's."""
        ordinary = well_formed(text)
        if ordinary is not text and ordinary != text:
            message = "A surrogate that is half a character was replaced by U+FFFD."
            self.notices.append(Notice("lone_surrogate", message, path))
        self.characters += len(text)
        self.utf8_bytes += len(ordinary.encode())
        self.notices += literal_notices(self.scale, text, path, stop=self._stop)
        return self.weigh(text)

    def warn(self, code: str, path: str) -> None:
        """Name a part that its rule does not cover wholly."""
        self.notices.append(Notice(code, _MESSAGES[code], path))

    def message(self, message: Message) -> None:
        """Add a message: its frame and its parts."""
        turn = message.role not in _SYSTEM
        self.framing.append(self.rules.frame.around(message, self.weigh, further=turn and self._spoken))
        self._spoken = self._spoken or turn
        for part in message.parts:
            self.part(part, message)
        if self.rules.frame.accuracy is Accuracy.EXACT:
            self._read_as_one(message)

    def part(self, part: Part, message: Message) -> None:
        """Add one part of ``message``."""
        frame = self.rules.frame
        match part:
            case Text():
                joint = frame.system_joint if message.role in _SYSTEM else ""
                self.text.append(self.say(part.text, part.path))
                if joint:
                    self.framing.append(self._joint(part.text, joint))
            case ToolCall():
                self.text += (self.say(part.name, part.path), self.say(part.arguments, part.path))
                self.framing.append(frame.around_call(legacy=part.legacy))
            case ToolResult():
                self.framing.append(frame.around_result(message, self.weigh))
                for inner in part.parts:
                    self.part(inner, message)
            case Reasoning():
                self.text.append(self._reasoning(part))
            case Unknown():
                self.warn("unsupported_part", part.path)
                told = self.say(part.text, part.path)
                self.text.append(unsupported(told) + sealed(part))
            case Unseen():
                self.warn(part.reason, part.path)
                self.media.append(unseen(part))
            case _:
                self.media.append(self._medium(part))

    def render(self, rendering: Rendering, request: Request) -> bool:
        """Put the model's own chat template in place of the frame and of the tools' rule, where there is one."""
        try:
            rendered = rendering.count(request, self.scale, stop=self._stop)
        except ChatNotRendered as error:
            self.notices.append(Notice("chat_not_rendered", str(error), "messages"))
            self.framing.append(NONE.because(Accuracy.APPROXIMATE, "chat_not_rendered"))
            return True
        if rendered is None:
            return False
        spoken, chat = total(self.text), rendered.chat
        host = self.rules.frame.host if rendered.hosted else 0
        for part in rendered.left_out:
            self.warn("left_out_by_template", part.path)
            self.media.append(Amount(0, 0, self.weigh(part.text).high).because(Accuracy.CLOSE, "left_out_by_template"))
        high = chat.high - spoken.high + host
        marks = replace(chat, tokens=chat.tokens - spoken.tokens, low=chat.low - spoken.low, high=high)
        self.framing = [marks.because(Accuracy.CLOSE, "host_may_add") if host else marks]
        if rendered.tools_ignored:
            self.warn("tools_not_in_template", request.tools[0].path)
            self.tools = [replace(total(self.tools), low=0)]
        elif request.tools:
            self.tools = [_shown_tools(self, request, rendered.tools), _schema(self, request)]
        return True

    def count(self, request: Request, window: int | None) -> Count:
        """The sum of all that was added."""
        text, framing, tools, media = map(total, (self.text, self.framing, self.tools, self.media))
        whole = total((text, framing, tools, media)).because(self.scale.accuracy, *self.scale.reasons)
        high = max(whole.high, window or LARGEST_WINDOW) if whole.unbounded else whole.high
        low = max(0, whole.low - self.less)
        scale, characters = self.scale, self.characters
        return Count(
            scale.model,
            scale.provider,
            scale.rule,
            scale.info,
            whole.tokens,
            low,
            high,
            whole.accuracy.value,
            whole.reasons,
            characters,
            self.utf8_bytes,
            text.tokens / characters if characters else None,
            characters / text.tokens if text.tokens else None,
            Breakdown(text.tokens, framing.tokens, tools.tokens, media.tokens),
            (*scale.notices, *request.notices, *_shortened(self.notices)),
        )

    def _read_as_one(self, message: Message) -> None:
        """Texts that follow one another may be read as one: where that makes a difference, the bounds hold it too."""
        for textual, run in groupby(message.parts, lambda part: isinstance(part, Text)):
            texts = [part.text for part in run if isinstance(part, Text)] if textual else []
            if len(texts) < 2:
                continue
            apart, joined = sum(self.weigh(text).tokens for text in texts), self.weigh("".join(texts)).tokens
            if apart != joined:
                self.less += max(0, apart - joined)
                self.text.append(Amount(0, 0, max(0, joined - apart)).because(Accuracy.CLOSE, "text_blocks_joined"))

    def _joint(self, text: str, joint: str) -> Amount:
        """What joins a system text to the first user text."""
        joined, alone = self.weigh(text + joint), self.weigh(text)
        return Amount(joined.tokens - alone.tokens, joined.low - alone.low, joined.high - alone.high)

    def _reasoning(self, part: Reasoning) -> Amount:
        """Earlier thoughts: vendors drop them from some turns and keep them in others."""
        told = self.say(part.text, part.path)
        amount = replace(told, low=0, high=told.high + part.sealed_bytes)
        return amount.because(Accuracy.APPROXIMATE, "reasoning_history")

    def _medium(self, part: Image | Audio | Video | Document) -> Amount:
        rules = self.rules
        match part:
            case Image():
                amount = rules.image.amount(part)
            case Audio():
                amount = rules.audio.amount(part)
            case Video():
                amount = rules.video.amount(part)
            case Document():
                amount = rules.document.amount(part)
        for reason in amount.reasons:
            if reason in _MESSAGES:
                self.warn(reason, part.path)
        return amount


def _shortened(notices: list[Notice]) -> list[Notice]:
    """At most ``_MOST_NOTICES``, and how many more there were: a request may have as many as it has parts."""
    more = len(notices) - _MOST_NOTICES
    if more <= 0:
        return notices
    last = Notice("warnings_omitted", f"{more} further warnings of these and other kinds are left out.", "")
    return [*notices[:_MOST_NOTICES], last]


def _tools(tally: _Tally, request: Request) -> Amount:
    """What the tools, the choice among them and the schema of the answer add."""
    rules, weigh = tally.rules, tally.weigh
    amounts = [NONE]
    own = [tool for tool in request.tools if tool.kind == "function"]
    if request.tools:
        amounts.append(rules.tools.amount(own, request.tool_choice, weigh, _system_text(request)))
    for tool in request.tools:
        tally.notices += literal_notices(tally.scale, tool.description, tool.path)
        if tool.kind != "function":
            amount = hosted(rules.hosted, tool, weigh)
            if "unsupported_tool" in amount.reasons:
                tally.warn("unsupported_tool", tool.path)
            amounts.append(amount)
    return total((*amounts, _schema(tally, request)))


def _shown_tools(tally: _Tally, request: Request, shown: Amount) -> Amount:
    """What a chat template shows of the tools takes ``shown``: by the model's own vocabulary, of tools of the sender's.

    Where the vocabulary is another's, its bounds hold; a tool of the vendor's own may be shown in other words.
    """
    estimator = tally.scale.estimator
    if estimator is not None:
        _, low, high = estimator.bounds(shown.tokens)
        shown = replace(shown, low=min(low, shown.low), high=max(high, shown.high))
    others = [hosted(tally.rules.hosted, tool, tally.weigh) for tool in request.tools if tool.kind != "function"]
    if not others:
        return shown
    room = total(others)
    return replace(shown, high=shown.high + room.high).because(room.accuracy, *room.reasons)


def _schema(tally: _Tally, request: Request) -> Amount:
    """What the schema of the answer adds."""
    response = request.response_schema
    return NONE if response is None else tally.rules.schema.amount(response, tally.weigh)


def _system_text(request: Request) -> str | None:
    """The last text of the first system message; ``None`` where there is no system message."""
    message = next((message for message in request.messages if message.role in _SYSTEM), None)
    if message is None:
        return None
    return next((part.text for part in reversed(message.parts) if isinstance(part, Text)), "")
