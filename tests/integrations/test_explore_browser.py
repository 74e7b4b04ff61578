"""`mumon explore` in a real browser: typed, clicked, zoomed, by keyboard alone, on a phone, with hostile words."""

from __future__ import annotations

import re
import shutil
import threading

import numpy as np
import pytest

from mumon import WordVectors
from mumon.integrations.explore import serve
from mumon.integrations.explore.maps import Maps
from mumon.integrations.explore.models import Model, open_model
from tests.samples import small

pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")
playwright = pytest.importorskip("playwright.sync_api")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
HOSTILE = "<img src=x onerror=alert(1)>"
LONG = "donaudampfschifffahrts" * 4
STRANGE = [HOSTILE, LONG, "مرحبا", "東京"]
EXPECT = {"timeout": 10_000}


@pytest.fixture(scope="module")
def models(planted, tmp_path_factory):
    """Two trained models; the first also has strange words, all near country1."""
    opened = []
    for seed, size in ((1, 24), (2, 20)):
        path = tmp_path_factory.mktemp("browser") / f"seed{seed}.mumon"
        small(planted[:1500], epochs=4, seed=seed, vector_size=size, window=5, target_weight=0).save(path)
        opened.append(open_model(str(path)))
    first = opened[0].wv
    noise = np.random.default_rng(0).standard_normal((len(STRANGE), first.vector_size)).astype(np.float32)
    near = first["country1"] + 0.01 * noise
    words, vectors = [*first.index_to_key, *STRANGE], np.vstack([first.vectors, near])
    wv = WordVectors(words, vectors, np.append(first.counts, [1] * len(STRANGE)))
    return Model("seed1.mumon", wv, opened[0].settings, opened[0].history), opened[1]


@pytest.fixture(scope="module")
def served(models):
    """The addresses of a page with one model and of a page with both."""
    from mumon.integrations.explore.app import build_application

    servers, addresses = [], []
    for some in (models[:1], models):
        listener = serve.listen("127.0.0.1", 0)
        config = uvicorn.Config(build_application(some, Maps(some, 100)), log_level="error", lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        servers.append((server, thread))
        addresses.append(serve.find_address(listener))
    yield addresses
    for server, thread in servers:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, served):
    """Open a page; afterwards nothing was complained of, and nothing asked for elsewhere."""
    contexts, complaints, asked = [], [], []

    def visit(address="", both=False, **options):
        context = chromium.new_context(
            **{"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **options}
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(EXPECT["timeout"])
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(served[both] + address)
        page.wait_for_selector("html[data-ready]")
        until(page, "window.mumonMap.data && window.mumonMap.whole")
        page.complaints = complaints
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []
    assert all(url.startswith(tuple(served)) for url in asked), asked


def words(page, place="#near", column=0):
    """The words of a ranking that is there."""
    page.wait_for_selector(f"{place} .ranking a")
    return page.locator(f"{place} .ranking").nth(column).locator("bdi").all_inner_texts()


def until(page, expression, argument=None):
    """Wait for the page; Playwright's own way would need `eval` in it, which the page forbids."""
    for _ in range(200):
        if page.evaluate(expression, argument):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never true: {expression}")


def asked_for(page, word):
    until(page, "word => document.querySelector('#near-asked').textContent === word", word)


def nearest(model, word):
    return [neighbour for neighbour, _ in model.wv.most_similar(word)]


def test_a_word_is_typed_and_its_neighbours_appear(opened, models):
    page = opened()
    page.fill("#search", "country3")
    page.press("#search", "Enter")
    asked_for(page, "country3")
    assert words(page) == nearest(models[0], "country3")
    assert "country3" in page.title()
    score = float(page.locator("#near .score").first.inner_text())
    part = page.evaluate("document.querySelector('#near .bar').style.getPropertyValue('--part')")
    assert float(part) == pytest.approx(score, abs=0.0006)
    widths = page.locator("#near .bar").evaluate_all("bars => bars.map((bar) => bar.getBoundingClientRect().width)")
    assert widths == sorted(widths, reverse=True) and widths[0] > widths[-1] > 0
    assert page.locator("#status").inner_text() == "10 words nearest to country3"
    page.select_option("#topn", "25")
    until(page, "document.querySelectorAll('#near li').length === 25")


def test_a_click_walks_on_and_back_leads_back(opened, models):
    page = opened("#q=country3")
    first = words(page)[0]
    page.locator("#near a").first.click()
    asked_for(page, first)
    assert words(page) == nearest(models[0], first)
    assert f"q={first}" in page.url
    page.go_back()
    asked_for(page, "country3")
    page.reload()
    asked_for(page, "country3")


def test_the_keyboard_alone_is_enough(opened, models):
    page = opened()
    page.keyboard.press("/")
    page.keyboard.type("countr")
    page.wait_for_selector("[role=option]")
    options = page.locator("[role=option] bdi").all_inner_texts()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    active = page.get_attribute("#search", "aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    asked_for(page, options[1])
    focused = "document.activeElement.dataset.word"
    for _ in range(12):
        if page.evaluate(focused):
            break
        page.keyboard.press("Tab")
    second = words(page)[1]
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == second
    page.keyboard.press("Enter")
    asked_for(page, second)
    until(page, f"{focused} !== undefined")
    assert page.evaluate(focused) == nearest(models[0], second)[0]
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_completion_opens_closes_and_completes_the_word_before_the_cursor(opened):
    page = opened()
    page.locator("#search").press_sequentially("country1 - capita")
    page.wait_for_selector("[role=option]")
    assert page.get_attribute("#search", "aria-expanded") == "true"
    assert all(text.startswith("capital") for text in page.locator("[role=option] bdi").all_inner_texts())
    page.keyboard.press("Escape")
    assert page.get_attribute("#search", "aria-expanded") == "false"
    assert page.locator("[role=option]").count() == 0
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("[role=option]")
    chosen = page.locator("[role=option] bdi").first.inner_text()
    page.locator("[role=option]").first.click()
    assert page.input_value("#search") == f"country1 - {chosen}"
    page.keyboard.press("Enter")
    asked_for(page, f"country1−{chosen}")
    assert "cosine of the two" in page.inner_text("#near-about")


def test_an_analogy_is_answered_and_can_be_shared(opened, models):
    page = opened()
    for field, word in zip("abc", ("country1", "capital1", "country2"), strict=True):
        page.fill(f"#{field}", word)
    page.press("#c", "Enter")
    expected = [word for word, _ in models[0].wv.most_similar(["capital1", "country2"], ["country1"], topn=5)]
    assert words(page, "#analogy") == expected
    page.check("#mul")
    until(page, "location.hash.includes('mul=1')")
    again = opened(page.url[page.url.index("#") :])
    product = models[0].wv.most_similar_cosmul(["capital1", "country2"], ["country1"], topn=5)
    assert words(again, "#analogy") == [word for word, _ in product]
    assert again.evaluate("mumonMap.marks.lines.length") == 2


def scale(page):
    return page.evaluate("mumonMap.view.scale / mumonMap.whole")


def test_the_map_zooms_by_wheel_button_key_and_double_click(opened):
    page = opened()
    assert scale(page) == pytest.approx(1)
    labels = page.evaluate("mumonMap.labels.length")
    box = page.locator("#map").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.wheel(0, -400)
    until(page, "mumonMap.view.scale > 1.5 * mumonMap.whole")
    steps = [scale(page)]
    page.click("#zoom-in")
    steps.append(scale(page))
    page.locator("#map").focus()
    page.keyboard.press("+")
    steps.append(scale(page))
    page.mouse.dblclick(box["x"] + 8, box["y"] + 8)
    steps.append(scale(page))
    assert steps == sorted(steps) and len(set(steps)) == 4
    page.keyboard.press("-")
    assert scale(page) < steps[-1]
    before = page.evaluate("mumonMap.view.x")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("mumonMap.view.x") > before
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 90, middle[1], steps=4)
    page.mouse.up()
    assert page.evaluate("mumonMap.view.x") < before
    page.keyboard.press("0")
    assert scale(page) == pytest.approx(1)
    assert labels > 5


def test_labels_never_overlap_and_more_appear_inside(opened):
    page = opened()
    overlaps = """() => mumonMap.labels.filter(({box: a}, i) => mumonMap.labels.some(({box: b}, j) =>
        i < j && a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1])).length"""
    hidden = """() => { const seen = new Set(mumonMap.labels.map(({word}) => word));
        return mumonMap.data.words.filter((word) => !seen.has(word)); }"""
    assert page.evaluate(overlaps) == 0
    words = page.evaluate(hidden)
    assert words
    for word in words[:: len(words) // 3]:
        zoom = """word => { const i = mumonMap.data.places.get(word); const {x, y} = mumonMap.data;
            mumonMap.set({x: x[i], y: y[i], scale: mumonMap.whole * 100}); mumonMap.draw(); }"""
        page.evaluate(zoom, word)
        assert page.evaluate(overlaps) == 0
        assert word not in page.evaluate(hidden)


def on_screen(page, word):
    """The middle of a word's label, on the page."""
    found = """word => { const {box: b} = mumonMap.labels.find((label) => label.word === word);
        return [(b[0] + b[2]) / 2, (b[1] + b[3]) / 2]; }"""
    x, y = page.evaluate(found, word)
    box = page.locator("#map").bounding_box()
    return box["x"] + x, box["y"] + y


def test_the_map_names_the_word_under_the_pointer_and_a_click_looks_it_up(opened):
    page = opened()
    word = page.evaluate("mumonMap.labels[0].word")
    page.mouse.move(*on_screen(page, word))
    page.wait_for_selector("#tip:not([hidden])")
    assert page.locator("#tip bdi").inner_text() == word and "rank" in page.inner_text("#tip")
    page.mouse.down()
    page.mouse.up()
    asked_for(page, word)
    until(page, "mumonMap.marks.around.length === 10")
    page.mouse.wheel(0, 1200)
    page.click("#find")
    inside = """word => { const mark = mumonMap.marks.centre[0]; const [x, y] = mumonMap.toScreen(mark.x, mark.y);
        return mark.word === word && x > 0 && y > 0 && x < mumonMap.width && y < mumonMap.height; }"""
    assert page.evaluate(inside, word)


def test_the_map_can_be_walked_by_keys(opened):
    page = opened()
    page.locator("#map").focus()
    for key in ("ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    word = page.evaluate("mumonMap.hover.word")
    assert page.locator("#tip bdi").inner_text() == word == page.inner_text("#status")
    page.keyboard.press("Enter")
    asked_for(page, word)


# The word whose dot is nearest to the middle of the view, by looking at every one.
MIDDLE = """() => { const {x, y, words} = mumonMap.data; const {view} = mumonMap;
    const far = words.map((word, i) => Math.hypot(x[i] - view.x, y[i] - view.y));
    return words[far.indexOf(Math.min(...far))]; }"""
DRAWN = "mumonMap.drawn?.middle"


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_the_word_nearest_to_the_middle_is_marked_and_looked_up_by_a_key(opened, key):
    page = opened()
    page.keyboard.press("/")
    page.locator("#map").focus()
    until(page, f"{DRAWN} !== null")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("+")
    word = page.evaluate(MIDDLE)
    until(page, f"word => {DRAWN} === word", word)
    assert page.evaluate("mumonMap.labels[0].word") == word == page.inner_text("#status")
    page.keyboard.press(key)
    asked_for(page, word)
    until(page, "mumonMap.marks.around.length === 10")
    assert page.evaluate("scrollY") == 0  # which Space would change
    assert page.inner_text("#status") == f"10 words nearest to {word}"


def test_the_mark_in_the_middle_is_seen_by_those_who_use_keys(opened):
    page = opened()
    assert page.evaluate(DRAWN) is None
    plain = page.locator("#map").screenshot()
    page.keyboard.press("/")
    page.locator("#map").focus()
    until(page, f"{DRAWN} !== null")
    assert page.locator("#map").screenshot() != plain
    page.keyboard.press("Escape")
    until(page, f"{DRAWN} === null")
    page.keyboard.press("Enter")  # shows it first: one does not look up what one did not see
    until(page, f"{DRAWN} !== null")
    assert "q=" not in page.url
    word = page.evaluate("mumonMap.labels.at(-1).word")
    page.mouse.move(*on_screen(page, word))
    until(page, f"{DRAWN} === null")
    page.keyboard.press("Enter")
    asked_for(page, word)
    page.keyboard.press("ArrowLeft")
    until(page, f"{DRAWN} !== null")
    page.keyboard.press("/")
    until(page, f"{DRAWN} === null")


def test_where_no_word_is_near_the_middle_the_page_says_so(opened):
    page = opened()
    page.locator("#map").focus()
    page.evaluate("mumonMap.set({x: -10000, y: -10000, scale: mumonMap.whole * 50})")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.inner_text("#status") == "No word is near the middle of the map; 0 shows everything"
    assert "q=" not in page.url and not page.is_visible("#tip")


def test_two_models_stand_side_by_side_with_what_they_share(opened, models):
    page = opened("#q=country3&m=1", both=True)
    columns = [words(page, column=column) for column in (0, 1)]
    assert columns == [nearest(model, "country3") for model in models]
    shared = set(columns[0]) & set(columns[1])
    assert 0 < len(shared) < 10
    assert page.locator("#near .ranking .both").count() == 2 * len(shared)
    share = len(shared) / len(set(columns[0]) | set(columns[1]))
    assert page.inner_text("#near .overlap") == f"{len(shared)} of 10 in both models · Jaccard {share:.2f}"
    assert page.evaluate("mumonMap.data.index") == 1
    page.locator("input[name=m][value='0']").check()
    until(page, "mumonMap.data.index === 0")
    assert page.locator(".plots figure svg g").count() == 6


def test_settings_that_differ_come_first_with_the_size_of_the_matrix_among_them(opened, models):
    page = opened(both=True)
    rows = [row.split() for row in page.locator(".settings .beside tbody tr").all_inner_texts()]
    sizes = [str(len(model.words)) for model in models]
    assert rows == [["words", *sizes], ["dimensions", "24", "20"], ["seed", "1", "2"]]
    assert page.inner_text(".settings .beside caption") == "3 settings differ"


def test_a_word_of_one_model_only_is_shown_in_its_column(opened):
    page = opened(both=True)
    page.fill("#search", "東京")
    page.press("#search", "Enter")
    page.wait_for_selector("#near .second .error")
    assert "'東京' is not among the" in page.inner_text("#near .second .error")
    assert page.locator("#near .first .ranking li").count() == 10
    complaint = page.complaints.pop()
    assert "404" in complaint  # Chromium notes the answer


def test_the_history_is_plotted_and_described(opened, models, monkeypatch):
    page = opened()
    plots = page.locator(".plots figure")
    assert plots.locator("h3").all_inner_texts() == ["Loss per word", "Learning rate", "Words per second"]
    assert plots.first.locator("circle").count() == 4
    epochs = models[0].history
    assert f"epoch 4: {epochs[3]['loss']:.3f}" in plots.first.locator("svg").get_attribute("aria-label")
    heights = plots.first.locator("circle").evaluate_all("dots => dots.map((dot) => +dot.getAttribute('cy'))")
    assert np.argsort(heights).tolist() == np.argsort([-epoch["loss"] for epoch in epochs]).tolist()
    rate = plots.nth(1)
    assert rate.locator("circle").count() == 5
    first = f"{models[0].settings['schedule']['alpha']:.3g}"
    assert f"at first: {first}, after epoch 1: " in rate.locator("svg").get_attribute("aria-label")
    caption = rate.locator("figcaption").inner_text()
    assert caption.startswith(f"{first} → 0.0001") and caption.endswith("by epoch")
    monkeypatch.setitem(models[0].settings["schedule"], "alpha", 1.0)  # the schedule of another training
    rate = opened().locator(".plots figure").nth(1)
    assert rate.locator("circle").count() == 4
    caption = rate.locator("figcaption").inner_text()
    assert caption.startswith(f"{epochs[0]['rate']:.3g} → ") and caption.endswith("at the end of each epoch")
    settings = dict(
        zip(*(page.locator(f".settings {kind}").all_inner_texts() for kind in ("tbody th", "td")), strict=True)
    )
    assert settings["objective"] == "cbow" and settings["shared negatives"] == "16"


def test_a_missing_word_is_reported_in_place_with_a_suggestion(opened):
    page = opened()
    page.fill("#search", "countri3 - capital2")
    page.press("#search", "Enter")
    error = page.locator("#near .error")
    error.wait_for()
    assert "'countri3' is not among the" in error.inner_text()
    assert "'countri3' is not among the" in page.inner_text("#status")
    error.locator("a").click()
    page.wait_for_selector("#near .ranking a")
    assert page.locator("#near-asked bdi").all_inner_texts()[1] == "capital2"
    assert "404" in page.complaints.pop()


def test_words_are_text_whatever_they_hold(opened):
    page = opened("#q=country1")
    shown = words(page)
    assert set(STRANGE) <= set(shown)
    assert page.locator("img").count() == 0
    page.locator("#near a", has_text=HOSTILE).click()
    asked_for(page, HOSTILE)
    page.locator("#search").fill("<im")
    page.wait_for_selector("[role=option]")
    page.evaluate("mumonMap.find()")
    assert page.locator("img").count() == 0
    assert page.locator("#near bdi").first.get_attribute("dir") == "auto"


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_scrolling_sideways_and_has_room_for_fingers(opened, both, scheme):
    page = opened(
        "#q=country1&a=country1&b=capital1&c=country2",
        both=both,
        viewport={"width": 375, "height": 812},
        device_scale_factor=2,
        is_mobile=True,
        has_touch=True,
        color_scheme=scheme,
    )
    words(page), words(page, "#analogy")
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    small_targets = """() => [...document.querySelectorAll('button, input, select, #near a, #analogy a, .choice label')]
        .filter((one) => one.offsetParent && !one.matches('.choice input'))
        .map((one) => [one.id || one.className, (one.closest('label') ?? one).getBoundingClientRect().height])
        .filter(([, height]) => height < 39.5)"""
    assert page.evaluate(small_targets) == []


def test_a_tap_names_a_word_and_the_next_looks_it_up(opened):
    page = opened(viewport={"width": 375, "height": 812}, is_mobile=True, has_touch=True)
    page.locator("#map").scroll_into_view_if_needed()
    word = page.evaluate("mumonMap.labels[0].word")
    page.touchscreen.tap(*on_screen(page, word))
    page.wait_for_selector("#tip a")
    assert page.locator("#tip bdi").inner_text() == word
    page.locator("#tip a").tap()
    asked_for(page, word)


def contrast(first, second):
    """The ratio of WCAG 2: (lighter + 0.05) / (darker + 0.05) of relative luminances."""

    def luminance(colour):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return np.dot(linear, [0.2126, 0.7152, 0.0722])

    high, low = sorted([luminance(first), luminance(second)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast_in_both_schemes(opened, scheme):
    page = opened(color_scheme=scheme)
    colour = """name => { const one = document.createElement('p'); one.style.color = `var(--${name})`;
        document.body.append(one); const found = getComputedStyle(one).color; one.remove(); return found; }"""
    pairs = [(ink, ground) for ink in ("ink", "muted", "first", "second") for ground in ("page", "panel", "sunken")]
    pairs += [("ink", "first-tint"), ("ink", "second-tint"), ("on-first", "first"), ("bad", "bad-tint")]
    for ink, ground in pairs:
        assert contrast(page.evaluate(colour, ink), page.evaluate(colour, ground)) >= 4.5, (ink, ground)


def test_a_server_that_has_ended_is_reported(opened):
    page = opened("#q=country1")
    page.route("**/api/**", lambda route: route.abort())
    page.fill("#search", "country2")
    page.press("#search", "Enter")
    page.wait_for_selector("#gone:not([hidden])")
    assert "Start it again" in page.inner_text("#gone")
    page.complaints.clear()  # Chromium notes every request that failed
