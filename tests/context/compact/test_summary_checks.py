"""Which summaries may replace a conversation: sound ones in any words, and none that speak of something else."""

import pytest

from co_tui.context.compact.summary_checks import is_degenerate, language, objection

CODING = """## User
The login page of our shop throws an exception since yesterday. Please find out why and fix it, but never touch
src/legacy/auth.py, other teams depend on it.

## Assistant
I will look at the handler first.

## Tool: read_file
**Input:**
{"path": "src/shop/login.py"}
**Output:**
def login(request):
    user = find_user(request.form["email"])
    session.start(user.id, timeout=SESSION_TIMEOUT)

## Tool: run_command
**Input:**
{"command": "pytest tests/test_login.py -q"}
**Output:**
FAILED tests/test_login.py::test_unknown_user - AttributeError: 'NoneType' object has no attribute 'id'
1 failed, 14 passed in 2.31s

## Assistant
The handler does not expect that find_user returns None for an unknown email address. I changed login() so that it
answers with status 401 in that case, and added a regression test. All 15 tests pass now.

## User
Good. The session should also end after 30 minutes instead of 8 hours. And can we log failed attempts?

## Assistant
SESSION_TIMEOUT is now 1800 seconds, in src/shop/settings.py. Logging of failed attempts is not done yet: you wanted
to ask the privacy officer first whether the address may be written into the log.
"""
BREAD = """## User
My sourdough comes out dense and gummy every single weekend. What am I doing wrong? I follow the recipe exactly.

## Assistant
Dense and gummy usually means that the dough did not ferment long enough. How warm is your kitchen, and how do you
judge that the first rise is over?

## User
It is rather cold in winter, maybe eighteen degrees. I just wait for three hours, as the recipe says, then shape it.

## Assistant
At that temperature three hours are far too short. Watch the dough rather than the clock: it should have grown by
half and wobble when you shake the bowl. Put it into the oven with only the lamp switched on. Also let the loaf cool
completely before you cut it, because the crumb sets while it cools. And feed the starter the evening before, so that
it is lively when you mix.

## User
I never waited until it was cold. My children want it warm! Should I use more starter as well?

## Assistant
You could go up to a fifth of the flour weight, but warmth will help more. Bake a second, small roll for the children.
"""
CHINESE = """## User
请帮我把用户登录接口的超时时间改成三十分钟，同时检查一下数据库连接池为什么会耗尽。不要修改支付模块的代码。

## Assistant
我先查看配置文件。超时时间原来写在公共配置里，默认八小时。数据库连接池耗尽的原因是查询异常之后连接没有归还，
我已经改成用上下文管理器来管理连接，并且补充了单元测试，全部通过。

## User
很好。日志里还有很多重复的警告信息，能不能合并？另外上线之前要先通知运维同事。

## Assistant
重复的警告来自定时任务，每分钟执行一次。我把警告改成了每小时汇总一次。上线通知还没有发送，需要您确认时间。
"""
TRIP = """## User
We want to spend a week in northern Italy in October, with two children of six and nine. No museums, please.

## Assistant
Then I would stay at one of the lakes. Lake Garda has a cable car, castles and short boat rides; in October it is
quiet and mild. You could take the night train to Verona and go on by bus from there.

## User
The night train sounds great. We booked a flat in Malcesine for 840 euros. What about rainy days?

## Assistant
For rain: the aquarium near Peschiera, a chocolate factory tour, and the thermal baths in Lazise. Keep the cable car
for the first clear morning, since clouds come up at noon.
"""
LONG = "".join(f"\nStep {n}: the build of package number {n} printed nothing unusual today." for n in range(60))

SOUND = {
    "word for word": (CODING, """## Decisions and outcomes
- login() in src/shop/login.py answers with 401 when find_user returns None; 15 tests pass.
- SESSION_TIMEOUT is 1800 seconds in src/shop/settings.py. Never touch src/legacy/auth.py.
## Open tasks
- Log failed attempts, after the privacy officer agreed."""),
    "a paraphrase that keeps the names": (CODING, """- Root cause: a missing account made the sign-in view
crash, since
a lookup result was dereferenced without any check; unauthorised visitors now receive 401 (src/shop/login.py).
- Idle visitors get signed out sooner: 1800. Recording unsuccessful sign-ins awaits approval by data protection."""),
    "a paraphrase without any name": (CODING, """The crash of the login page came from an unknown address for which no
user was found; the handler now refuses such attempts properly, guarded by a new regression test. Sessions expire much
sooner. Whether failed attempts may be logged is still waiting for the privacy officer's answer."""),
    "in German, of an English talk": (CODING, """- Ursache: find_user liefert None bei unbekannter Adresse; login()
antwortet jetzt mit 401, alle 15 Tests laufen durch.
- SESSION_TIMEOUT beträgt nun 1800 Sekunden (src/shop/settings.py). src/legacy/auth.py darf nicht angefasst werden.
- Offen: fehlgeschlagene Anmeldungen protokollieren, sobald die Datenschutzbeauftragte zugestimmt hat."""),
    "in German, without any name": (BREAD, """Das Brot wird klitschig, weil der Teig in der kalten Küche nicht lange
genug geht. Empfohlen wurde, den Teig zu beobachten statt der Uhr zu folgen, ihn im Ofen bei eingeschalteter Lampe
gehen zu lassen, den Laib vor dem Anschneiden völlig auskühlen zu lassen und für die Kinder ein Brötchen zu
backen."""),
    "in French, without any name": (BREAD, """Le pain reste compact parce que la pâte ne fermente pas assez longtemps
dans une cuisine froide. Il faut observer la pâte plutôt que la montre, utiliser le four avec la seule lampe allumée,
laisser refroidir complètement la miche avant de la couper, et cuire un petit pain séparé pour les enfants."""),
    "in English, of a Chinese talk": (CHINESE, """The login timeout becomes thirty minutes. The connection pool
ran dry
because connections were not returned after failing queries; a context manager does that now, with unit tests.
Repeated
warnings from the scheduled job are merged hourly. Open: operations must be notified before the release."""),
    "in Chinese, of a Chinese talk": (CHINESE, """- 登录接口超时时间改为三十分钟，支付模块不动。
- 连接池耗尽：查询异常后连接没有归还，已用上下文管理器解决，单元测试通过。
- 警告信息改为每小时汇总。未完成：上线前通知运维，等待确认时间。"""),
    "in Chinese, of an English talk": (TRIP, """一家四口十月去意大利北部度假一周，不去博物馆。住在加尔达湖边，
已订公寓，
八百四十欧元。坐夜车到维罗纳再转公交。下雨天可以去水族馆、巧克力工厂和温泉。缆车留到第一个晴天上午。"""),
    "a paraphrase of plain talk": (BREAD, """The bread is too compact because fermentation is cut short: the
room is cold,
and the person stops after three hours. Advice: judge by growth instead of time, find a warmer spot such as an oven
with its lamp on, refresh the starter the evening before, wait until the loaf is cold before slicing."""),
    "short": (BREAD, "Gummy sourdough: ferment warmer and longer, cool fully before cutting."),
    "shorter than can be judged": (TRIP, "Family holiday settled; weather alternatives collected."),
    "of much that says little": (TRIP + LONG, """A family of four spends an October week at Lake Garda (flat in
Malcesine,
840 euros, night train to Verona). Ideas for rainy days were collected; the cable car waits for a clear morning."""),
}  # fmt: skip
UNSOUND = {
    "an invented project": (CODING, """## Decisions and outcomes
- Migrated the checkout widget from React 17 to Vue 3 in packages/checkout/index.tsx, bundle shrank by 42 kB.
- Webpack replaced by Vite; Cypress suites adapted (cypress/e2e/cart.cy.ts).
## Open tasks
- Translate the onboarding screens into Portuguese."""),
    "another project with the words of the trade": (CODING, """The failing deployment of the weather service
was traced to
an expired certificate on the gateway. Kubernetes manifests were regenerated, the ingress controller upgraded, and the
nightly pipeline reports success again. Remaining: rotate credentials, document rollback procedures, inform
customers."""),
    "animals": (BREAD, """Penguins live happily among glaciers while dancing waltzes underneath purple
moonlight together;
elephants juggle bananas, violins, teapots, umbrellas."""),
    "talk about a machine": (BREAD, """The user asked about training neural networks. The assistant explained gradient
descent, learning rates, regularisation and how overfitting shows in validation curves. They agreed on a smaller model
with dropout, and on collecting additional labelled examples before the deadline."""),
    "the summariser speaks of itself": (TRIP, """As an artificial intelligence language model, I cannot access
previous
conversations or remember personal information. Please provide additional details regarding your specific requirements
so that I can generate appropriate assistance."""),
    "names of something else, and little more": (BREAD, "Fixed parse_config in src/config/loader.py; 128 tests."),
    "names of something else, in another language": (CHINESE, """Die Rechnungen in billing/export.py hatten falsche
Beträge; round_half_even behebt das. Offen: Ticket ABC-1932, Release 4.12."""),
    "another subject in Chinese": (CHINESE, """昨天的足球比赛主队以二比一获胜，前锋在下半场打进关键进球。
球迷们在体育场外庆祝到深夜，
教练表示球队的防守仍然需要加强，下一场将对阵去年的冠军，门票几乎售罄。"""),
    "another subject, much source": (TRIP + LONG, """Quarterly revenue increased because subscription renewals
exceeded
expectations, although marketing expenditure doubled. Shareholders approved the acquisition, the finance director
resigned, and auditors requested clarification regarding depreciation."""),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_summary_is_used_in_whatever_words(name: str) -> None:
    source, summary = SOUND[name]
    assert objection(summary, replaced_tokens=5_000, source=source) == ""


@pytest.mark.parametrize("name", UNSOUND)
def test_a_summary_of_something_else_is_not(name: str) -> None:
    source, summary = UNSOUND[name]
    assert objection(summary, replaced_tokens=5_000, source=source) == "it speaks of something else"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CODING, "en"),
        (CHINESE, "cjk"),
        ("Der Teig ist nicht lange genug gegangen, und die Küche war für das Brot zu kalt.", "de"),
        ("Il faut que les enfants restent dans la cuisine avec le chien pour la nuit.", "fr"),
        ("El horno no estaba caliente, pero la masa creció más con las manos que con una máquina.", "es"),
        ("テストはすべて通りました。次はログの設定を直します。", "japanese"),
        ("Тесты прошли, осталось обновить документацию.", "cyrillic"),
        ("pytest -q src/app.py", ""),
        ("1234 … !?", ""),
    ],
)
def test_the_language_of_a_text(text: str, expected: str) -> None:
    assert language(text) == expected


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        ("", "it is empty"),
        (" \n- …\n", "it is empty"),
        ("Please reduce the size. " * 40, "it repeats one phrase"),
        ("很好很好" * 80, "it repeats one phrase"),
        (CODING, "it is no smaller than what it would replace"),
    ],
)
def test_other_objections(summary: str, why: str) -> None:
    assert objection(summary, replaced_tokens=300, source=CODING) == why


def test_what_is_varied_does_not_repeat() -> None:
    assert not is_degenerate(CODING) and not is_degenerate(CHINESE)
