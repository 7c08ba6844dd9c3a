"""Leave out the provider's own web search once the provider refuses it, so that it cannot end a conversation."""

import re
from dataclasses import replace
from typing import Final

from pydantic_ai.exceptions import ModelAPIError, ModelAuthenticationError, ModelRateLimitError
from pydantic_ai.models import ModelRequestParameters

_ABOUT_SEARCH: Final = re.compile(r"web.?search|google.?search|server.?side.?tool|built-?in.?tool", re.IGNORECASE)
"""Wording of errors about it: some accounts and models may not use it."""


class RefusedSearch:
    """Whether one model's provider refused to search."""

    def __init__(self) -> None:
        self._is_refused = False

    def removed_from(self, parameters: ModelRequestParameters) -> ModelRequestParameters:
        """The parameters without what was refused before."""
        return replace(parameters, native_tools=[]) if self._is_refused and parameters.native_tools else parameters

    def after(self, error: Exception, parameters: ModelRequestParameters) -> ModelRequestParameters | None:
        """The parameters to send instead; None when the error is not about the search."""
        if not isinstance(error, ModelAPIError) or isinstance(error, ModelAuthenticationError | ModelRateLimitError):
            return None
        if not parameters.native_tools or not _ABOUT_SEARCH.search(str(error)):
            return None
        self._is_refused = True
        return self.removed_from(parameters)
