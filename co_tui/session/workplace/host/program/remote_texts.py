"""The instruction files and skills of a project on the other host."""

import base64

from co_tui.session.tools.folder.safe_texts import SafeTexts


class RemoteTexts:
    """The same code as here; contents are in base 64."""

    def __init__(self, texts: SafeTexts) -> None:
        self.project, self.stat, self.list = texts.project, texts.stat, texts.list
        self._texts = texts

    def read(self, path: str) -> str:
        return base64.b64encode(self._texts.read(path)).decode()

    def find(self, path: str) -> tuple[str, bool, bool]:
        real, is_inside, is_file = self._texts.find(path)
        return real, is_inside, is_file
