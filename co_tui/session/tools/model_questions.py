"""The model's questions to the user, asked one after the other through the session's port."""

from pydantic_ai_harness.ask_user import AskUserAnswer, AskUserRequest, AskUserResponse

from co_tui.inert import inert
from co_tui.session.approvals.questions import ModelAnswer, ModelQuestion, Questions


class ModelQuestions:
    """Answers for the harness's tool; whoever declines one question declines all that came with it."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    async def __call__(self, request: AskUserRequest, /) -> AskUserResponse:
        answers = []
        for each in request.questions:
            labels = tuple(option.label for option in each.options)
            told = [f"{option.label}: {option.description}" for option in each.options if option.description]
            asked = ModelQuestion(
                question="\n".join([each.question, *told]), options=labels, multiple=each.multi_select
            )
            answer = await self._questions.ask(asked)
            if answer.declined:
                return AskUserResponse(cancelled=True)
            answers.append(_answer(each.header, labels, answer))
        return AskUserResponse(answers=tuple(answers))


def _answer(header: str, labels: tuple[str, ...], answer: ModelAnswer) -> AskUserAnswer:
    if selected := answer.selected or tuple(label for label in labels if label == answer.text):
        return AskUserAnswer(header=header, selected=selected)
    # The tool takes no characters that steer a terminal, tabs included.
    return AskUserAnswer(header=header, custom_answer=inert(answer.text).replace("\t", " "))
