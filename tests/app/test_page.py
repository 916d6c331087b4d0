"""The page in a real browser: a case by mouse and by keyboard, saved and opened again, a faulty model, a what-if."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
httpx = pytest.importorskip("httpx")
playwright = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")

import serving  # noqa: E402
from alike import close  # noqa: E402
from serving import server  # noqa: E402

PATIENCE = 1000 * serving.PATIENCE
"""Milliseconds that the browser waits for anything."""

narrow = pytest.mark.parametrize("page", [360], indirect=True, ids=["narrow"])
"""For what is said and done: no script asks for the width, whole cases go in both, and every end is seen in both."""


def steps(page: Any, count: int) -> None:
    """Wait until the log has `count` entries, and the screen is that of the next step."""
    playwright.expect(page.locator(".log li")).to_have_count(count, timeout=PATIENCE)


def do(page: Any) -> str:
    return str(page.locator("[data-do]").first.get_attribute("data-do"))


def open_model(page: Any, name: str) -> None:
    page.select_option("#model", name)
    page.wait_for_url(f"**/#{name}")
    playwright.expect(page).to_have_title(f"{name} – rhoplan", timeout=PATIENCE)
    page.wait_for_selector(f"main[data-view^='{name} '] [data-do]")


def as_text(page: Any) -> None:
    """Show the model as text."""
    page.click("[data-tab='Model']")
    page.locator("#as-text, #model-text").first.wait_for()
    page.click("#as-text")


def show_nats(page: Any) -> None:
    page.click("#menu summary")
    page.check("#nats")
    page.keyboard.press("Escape")


def test_the_address_that_the_command_prints_shows_the_gallery(address: str, browser: Any) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.click("[data-card=screening-cascade]")
    page.wait_for_selector("[data-do]")
    page.go_back()
    page.wait_for_selector("[data-card=screening-cascade]")
    page.close()


def test_the_one_model_that_the_command_names_is_opened(browser: Any) -> None:
    with server("--workers", "1", "printer") as fresh:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(fresh)
        page.wait_for_selector("main[data-view='printer Case'] [data-do]")
        page.close()


def test_a_whole_case_by_keyboard_and_undo(page: Any) -> None:
    first = do(page)
    page.keyboard.press("1")
    steps(page, 1)
    second = do(page)
    page.keyboard.press("u")
    steps(page, 0)
    assert do(page) == first
    page.keyboard.press("1")
    steps(page, 1)
    assert do(page) == second
    for count in range(2, 8):
        if page.locator("[data-commit]").count():
            break
        page.keyboard.press("1")
        steps(page, count)
    page.keyboard.press("1")
    page.wait_for_selector("[data-closed]")
    page.keyboard.press("u")
    page.wait_for_selector("[data-commit]")


def test_a_whole_case_by_mouse_with_a_test_that_cannot_be_had(page: Any) -> None:
    first = do(page)
    page.click("[data-missing]")
    steps(page, 1)
    assert do(page) != first
    page.click("#undo")
    steps(page, 0)
    assert do(page) == first
    for count in range(1, 8):
        if page.locator("[data-commit]").count():
            break
        page.locator("[data-outcome]").last.click()
        steps(page, count)
    page.click("[data-commit]")
    page.wait_for_selector("[data-closed]")
    page.get_by_role("button", name="New case").click()
    steps(page, 0)


def enter_another(page: Any, test: str, outcome: str) -> None:
    """Enter the result of a test that is not the recommended one, by keyboard alone."""
    row = page.locator("tr", has_text=test)
    row.locator("summary").focus()
    page.keyboard.press("Enter")
    row.get_by_role("button", name=outcome).focus()
    page.keyboard.press("Enter")


def saved(page: Any, path: Path) -> dict[str, Any]:
    """The case as the page saves it to `path`."""
    with page.expect_download() as found:
        page.locator("#save").focus()
        page.keyboard.press("Enter")
    found.value.save_as(path)
    return cast("dict[str, Any]", json.loads(path.read_text()))


def replays(path: Path) -> bool:
    done = subprocess.run([sys.executable, "-m", "rhoplan", "replay", str(path)], capture_output=True, check=False)
    return done.returncode == 0 and b"1 case: the advice is the same throughout" in done.stdout


@narrow
def test_a_case_with_an_override_is_saved_replayed_and_opened_again(page: Any, tmp_path: Path) -> None:
    advised = do(page)
    enter_another(page, "vessels", "none")
    steps(page, 1)
    assert f"instead of {advised}" in page.locator(".log").inner_text()
    page.keyboard.press("w")
    page.keyboard.type("seen 2 days ago, n. u.")  # letters and digits that are keys elsewhere
    page.keyboard.press("Enter")
    steps(page, 1)
    page.keyboard.press("n")
    steps(page, 2)
    page.keyboard.press("1")
    steps(page, 3)
    page.locator(".stop-box summary").focus()
    page.keyboard.press("Enter")
    other = page.locator(".stop-box details [data-stop]").first
    commit = other.get_attribute("data-stop")
    other.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(f"[data-closed={commit}]")
    page.keyboard.press("w")
    page.keyboard.type("to be safe")
    record = saved(page, tmp_path / "case.json")
    assert [entry["followed"] for entry in record["entries"]] == [False, True, True, False]
    assert [entry["why"] for entry in record["entries"]] == ["seen 2 days ago, n. u.", "", "", "to be safe"]
    assert replays(tmp_path / "case.json")
    page.get_by_role("button", name="New case").click()
    steps(page, 0)
    page.set_input_files("#open-case", tmp_path / "case.json")
    page.wait_for_selector(f"[data-closed={commit}]")
    steps(page, 4)
    assert page.locator(".why").first.input_value() == "seen 2 days ago, n. u."
    close(saved(page, tmp_path / "again.json"), record)  # a graph that grew another way rounds another way
    page.keyboard.press("u")
    steps(page, 3)
    assert do(page) == record["entries"][3]["advised"]["do"]


@narrow
def test_a_case_of_an_edited_model_is_opened_where_the_model_is_gone(page: Any, address: str, tmp_path: Path) -> None:
    name = "dear scan"
    as_text(page)
    text = page.locator("#model-text").input_value()
    page.fill("#model-text", text.replace("cost: 102.90", "cost: 1002.90"))
    page.fill("#model-name", name)
    page.click("#model-use")
    page.wait_for_selector(f"main[data-view='{name} Case'] [data-do]")
    show_nats(page)
    before = page.locator("tr.chosen td").nth(3).inner_text()
    page.fill("#weight-number", "40")
    page.keyboard.press("Tab")
    playwright.expect(page.locator("tr.chosen td").nth(3)).not_to_have_text(before, timeout=PATIENCE)
    page.locator("[data-outcome]").first.click()
    steps(page, 1)
    record = saved(page, tmp_path / "case.json")
    assert record["agent"]["weight"] == 40
    assert replays(tmp_path / "case.json")
    httpx.delete(f"{address}/api/v1/models/{name}", timeout=serving.PATIENCE).raise_for_status()
    open_model(page, "printer")
    page.set_input_files("#open-case", tmp_path / "case.json")
    page.wait_for_selector(f"main[data-view='{name} Case'] [data-do]")
    steps(page, 1)
    assert page.locator("#weight-number").input_value() == "40"
    close(saved(page, tmp_path / "again.json"), record)  # a graph that grew another way rounds another way


@narrow
def test_a_file_that_is_no_case_is_refused_in_a_sentence(page: Any, tmp_path: Path) -> None:
    page.keyboard.press("1")
    steps(page, 1)
    (tmp_path / "x.json").write_text("[1, 2]")
    page.set_input_files("#open-case", tmp_path / "x.json")
    playwright.expect(page.locator("#problem")).to_contain_text("no case that rhoplan kept", timeout=PATIENCE)
    steps(page, 1)
    page.expected.append("422")


@narrow
def test_a_case_outlives_a_reload_and_a_look_elsewhere_and_back(page: Any) -> None:
    page.keyboard.press("1")
    steps(page, 1)
    here = do(page)
    open_model(page, "printer")
    steps(page, 0)
    page.click("[data-tab='Pathway']")
    page.wait_for_selector(".tree")
    page.reload()
    page.wait_for_selector(".tree")
    page.go_back()
    page.wait_for_selector("main[data-view='printer Case'] [data-do]")
    page.go_back()
    page.wait_for_selector("main[data-view='chest-pain Case'] [data-do]")
    steps(page, 1)
    assert do(page) == here
    page.click("#new-case")
    steps(page, 0)
    page.reload()
    page.wait_for_selector("[data-do]")
    steps(page, 0)


@narrow
def test_a_double_click_and_fast_keys_enter_one_result_at_a_time(page: Any) -> None:
    page.locator("[data-outcome]").first.dblclick()
    steps(page, 1)
    page.wait_for_timeout(500)
    steps(page, 1)
    press = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '1', bubbles: true }))"
    page.evaluate(f"{press}; {press}; {press}")
    steps(page, 2)
    page.wait_for_timeout(500)
    steps(page, 2)
    assert page.locator("#problem").is_hidden()


@narrow
def test_an_answer_that_comes_late_does_not_draw_over_another_model(page: Any) -> None:
    held: list[Any] = []
    page.route("**/api/v1/advise/parts", lambda route: held.append(route))
    page.keyboard.press("1")
    open_model(page, "rocksample")
    assert held
    for route in held:
        route.continue_()
    page.unroute("**/api/v1/advise/parts")
    page.wait_for_timeout(500)
    assert page.locator("svg.map").count() == 1
    open_model(page, "chest-pain")
    steps(page, 1)


def test_nothing_on_the_page_lacks_a_name_and_the_focus_is_never_lost(page: Any) -> None:
    page.locator("[data-outcome]").first.focus()
    page.keyboard.press("Enter")
    steps(page, 1)
    assert page.evaluate("document.activeElement.className").startswith("box next")
    for tab in ("Pathway", "What-if", "Compare", "Targets", "Model", "Report", "Case"):
        page.locator(f"[data-tab='{tab}']").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(f"main[data-view='chest-pain {tab}'] .box")
        assert page.evaluate("document.activeElement.dataset.tab") == tab
        nameless = page.evaluate(
            "[...document.querySelectorAll('button, input, select, textarea, summary, a')].filter((one) =>"
            " !(one.textContent || one.ariaLabel || one.labels?.length || one.getAttribute('aria-labelledby')))"
            ".map((one) => one.outerHTML)"
        )
        assert nameless == []


@narrow
def test_prediction_comes_before_the_advice(page: Any) -> None:
    page.check("#teach")
    page.get_by_role("heading", name="What would you do next?").wait_for()
    assert page.locator("[data-do]").count() == 0
    page.keyboard.press("1")
    page.wait_for_selector("[data-do]")
    assert "You chose" in page.locator(".verdict").inner_text()


@narrow
def test_the_price_of_information_changes_the_table(page: Any) -> None:
    show_nats(page)
    before = page.locator("tr.chosen td").nth(3).inner_text()
    page.fill("#weight-number", "100")
    page.keyboard.press("Tab")
    playwright.expect(page.locator("tr.chosen td").nth(3)).not_to_have_text(before, timeout=PATIENCE)


@narrow
def test_what_is_about_as_good_stands_beside_the_advice(page: Any) -> None:
    words = page.locator(".next .beside")
    assert re.match(r"Next best: \S+, ", words.inner_text())
    page.fill("#near", "2")
    page.keyboard.press("Tab")
    playwright.expect(words).to_have_text(re.compile(f"^About as good: {do(page)} and "), timeout=PATIENCE)
    page.click("[data-tab='Pathway']")
    playwright.expect(page.locator(".pathway .beside")).to_have_text(re.compile("^About as good: "), timeout=PATIENCE)


def test_an_edited_model_shows_its_error_and_then_runs(page: Any) -> None:
    as_text(page)
    area = page.locator("#model-text")
    text = area.input_value()
    line = next(n for n, row in enumerate(text.split("\n"), 1) if "cost: 102.90" in row)
    area.fill(text.replace("cost: 102.90", "cost: -102.90"))
    playwright.expect(page.locator("#model-said")).to_contain_text(f"line {line}", timeout=PATIENCE)
    assert "must not be negative" in page.locator("#model-said").inner_text()
    assert page.locator(".lines .bad").inner_text().strip() == str(line)
    area.fill(text.replace("cost: 102.90", "cost: 0.5"))
    playwright.expect(page.locator("#model-said")).to_contain_text("✓", timeout=PATIENCE)
    page.fill("#model-name", "cheap scan")
    page.click("#model-use")
    page.wait_for_selector("main[data-view^='cheap scan '] [data-do]")
    with page.expect_download() as found:
        page.click("[data-tab='Model']")
        page.get_by_role("button", name="Download").click()
    assert "cost: 0.5" in Path(found.value.path()).read_text()


MANY = 30
"""Results of the one action of a file, more than are shown at once."""


@narrow
def test_a_file_of_others_is_opened_told_its_fault_and_stepped_through(page: Any, tmp_path: Path) -> None:
    chances = [round((number + 1) / (MANY * (MANY + 1) / 2), 6) for number in range(MANY - 1)]
    row = " ".join(map(str, [*chances, round(1 - sum(chances), 6)]))
    head = f"discount: 0.9\nstates: a b\nactions: look\nobservations: {MANY}\nT: look identity\n"
    text = f"{head}O: look : a {row}\nO: look : b uniform\nR: look : a : * : * 1\n"
    as_text(page)
    (tmp_path / "my.look.pomdp").write_text(text.replace("O: look : b", "O: look : c"))
    page.set_input_files("#model-file", tmp_path / "my.look.pomdp")
    playwright.expect(page.locator("#model-said")).to_contain_text("line 7", timeout=PATIENCE)
    (tmp_path / "my.look.pomdp").write_text(text)
    page.set_input_files("#model-file", [])
    page.set_input_files("#model-file", tmp_path / "my.look.pomdp")
    playwright.expect(page.locator("#model-said")).to_contain_text(
        "✓ 2 states, 1 action at the start", timeout=PATIENCE
    )
    assert page.input_value("#model-language") == "pomdp"
    page.click("#model-use")
    page.wait_for_selector("main[data-view^='my.look '] [data-do='look']")
    folded = page.locator(".next details[data-folded]")
    assert int(folded.get_attribute("data-folded")) == MANY - page.locator(".next > .results > [data-outcome]").count()
    page.locator(".next [data-outcome]").first.click()
    steps(page, 1)
    folded.locator("summary").click()
    folded.locator("[data-outcome]").last.click()
    steps(page, 2)


@narrow
def test_a_what_if_marks_what_is_not_the_models(page: Any) -> None:
    page.click("[data-tab='What-if']")
    slider = page.locator(".slider").first
    slider.locator("input[inputmode]").fill("10")
    page.keyboard.press("Enter")
    slider.get_by_role("button", name="undo, the model has 46%").wait_for()
    page.click("[data-tab='Case']")
    page.wait_for_selector("main[data-view='chest-pain Case'] [data-do]")
    assert "a number that is not the model's" in page.locator("#differs").inner_text()
    page.click("[data-tab='What-if']")
    page.locator(".slider .own:visible").click()
    playwright.expect(page.locator(".slider .own:visible")).to_have_count(0, timeout=PATIENCE)
    page.click("[data-tab='Case']")
    page.wait_for_selector("main[data-view='chest-pain Case'] [data-do]")
    assert page.locator("#differs").is_hidden()


@narrow
def test_a_damaged_case_leaves_the_page_usable_by_mouse(page: Any, tmp_path: Path) -> None:
    page.locator("[data-outcome]").first.click()
    steps(page, 1)
    record = saved(page, tmp_path / "case.json")
    damages = {
        "is no case that rhoplan kept": {"entries": 3},
        "the model is not the one": {"digest": "0"},
        "has been run already": {"entries": record["entries"] * 3},
    }
    page.expected.append("422")
    for told, damage in damages.items():
        (tmp_path / "case.json").write_text(json.dumps({**record, **damage}))
        page.set_input_files("#open-case", tmp_path / "case.json")
        page.locator("#problem, #notice", has_text=told).first.wait_for()
        if page.locator("#new-case").count():
            page.locator("#new-case").click()
        steps(page, 0)
        page.locator("[data-outcome]").first.click()
        steps(page, 1)


def test_a_what_if_flips_the_advice_and_says_where(page: Any) -> None:
    open_model(page, "screening-cascade")
    page.click("[data-tab='What-if']")
    page.wait_for_selector("main [data-do]")
    before = do(page)
    page.wait_for_selector(".flips li")
    assert "becomes" in page.locator(".flips").inner_text()
    playwright.expect(page.locator("[data-flip='cost.strip']")).to_contain_text("above", timeout=PATIENCE)
    page.get_by_label("strip", exact=True).evaluate(
        "(one) => { one.value = one.max; one.dispatchEvent(new Event('input')); }"
    )
    page.wait_for_selector("[data-flipped]")
    assert do(page) != before
    page.get_by_role("button", name="back to the model").click()
    playwright.expect(page.locator("[data-do]")).to_have_attribute("data-do", before, timeout=PATIENCE)


@narrow
def test_moving_one_prior_moves_the_others(page: Any) -> None:
    """The server says what is left for them; going back brings every number back."""
    open_model(page, "four-diseases")
    page.click("[data-tab='What-if']")
    typed = page.locator("[data-id^='prior.'] input[inputmode]")
    typed.first.wait_for()
    before = [float(typed.nth(place).input_value()) for place in range(typed.count())]
    typed.first.fill("90")
    typed.first.press("Tab")
    left = 10 / (100 - before[0])
    playwright.expect(typed.nth(2)).not_to_have_value(f"{before[2]:g}", timeout=PATIENCE)
    after = [float(typed.nth(place).input_value()) for place in range(2, typed.count())]
    assert after == pytest.approx([left * share for share in before[2:]], rel=1e-3)
    page.get_by_role("button", name="back to the model").click()
    playwright.expect(typed.first).to_have_value(f"{before[0]:g}", timeout=PATIENCE)


@narrow
@pytest.mark.parametrize(
    "sign", ["losses: {leave: [0, 90], treat: [7, 0]}", "commits: {leave: [0, -90], treat: [-7, 0]}"]
)
def test_a_model_that_only_loses_is_told_in_losses(page: Any, address: str, sign: str) -> None:
    """Written as losses or as rewards below zero: the page says the same."""
    look = "{cost: 1, sensitivity: 90%, specificity: 80%}"
    text = f"states: [well, ill]\nprevalence: {{ill: 20%}}\ntests: {{look: {look}}}\n{sign}\n"
    assert httpx.post(
        f"{address}/api/v1/models", json={"name": "only loses", "text": text}, timeout=serving.PATIENCE
    ).is_success
    page.goto(f"{address}/#only%20loses")
    page.reload()
    page.wait_for_selector("[data-do]")
    assert "expected loss" in page.locator(".stop-box").inner_text()
    page.click("[data-tab='What-if']")
    typed = page.locator("[data-id='loss.leave.ill'] input[inputmode]")
    typed.wait_for(state="attached")
    assert typed.input_value() == "90"


@narrow
@pytest.mark.parametrize("name", ["screening-cascade", "chest-pain", "tiger"])
def test_a_what_if_examines_losses_and_rewards(page: Any, name: str) -> None:
    open_model(page, name)
    page.click("[data-tab='What-if']")
    lines = page.locator("[data-flip^='loss.'], [data-flip^='reward.']")
    lines.first.wait_for(state="attached")
    for place in range(min(lines.count(), 3)):
        playwright.expect(lines.nth(place)).to_contain_text(
            re.compile("becomes|no flip|not examined"), timeout=PATIENCE
        )


def test_pathway_folds_and_compare_draws(page: Any) -> None:
    show_nats(page)
    open_model(page, "screening-cascade")
    page.click("[data-tab='Pathway']")
    page.wait_for_selector(".tree .leaf")
    page.get_by_role("button", name="fold all").click()
    assert not page.locator(".tree .leaf").first.is_visible()
    page.get_by_role("button", name="open all").click()
    assert page.locator(".tree .leaf").first.is_visible()
    page.click("[data-tab='Compare']")
    page.get_by_text("The plan is the same for every price").wait_for()
    assert page.locator("tbody tr").count() >= 4
    page.click("[data-tab='Report']")
    page.get_by_role("button", name="Print").wait_for()
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="printable report").click()
    opened.value.get_by_role("heading", name=re.compile("screening.cascade", re.I)).wait_for(timeout=PATIENCE)
    page.click("[data-tab='Compare']")
    for model in ("tiger", "security-lane"):  # success that changes with the price, and success that does not
        page.select_option("#model", model)
        page.wait_for_selector(f"main[data-view='{model} Compare'] svg.chart .point.best")


@narrow
@pytest.mark.parametrize("name", ["tileworld", "rocksample", "inspection", "navigation", "drilling", "tiger"])
def test_problems_of_the_paper_can_be_stepped_through(page: Any, name: str) -> None:
    open_model(page, name)
    if name in ("tileworld", "rocksample", "inspection", "navigation"):
        assert page.locator("svg.map .cell").count() >= 9
    for count in (1, 2):
        page.locator(".next [data-outcome]").last.click()
        steps(page, count)
    page.keyboard.press("u")
    steps(page, 1)


def test_the_recipe_for_a_view_works(address: str, browser: Any) -> None:
    """The module and the row that the how-to prints, put beside the others."""
    root = Path(__file__).resolve().parents[2]
    recipe = (root / "docs" / "how-to.md").read_text(encoding="utf-8").split("## A view of your own on the page")[1]
    module, row = re.findall(r"```js\n(.*?)```", recipe, flags=re.DOTALL)[:2]
    own = (root / "src" / "rhoplan" / "app" / "serve" / "static" / "app.js").read_text(encoding="utf-8")
    imported, added = row.splitlines()[0], re.search(r"(Rank: \w+)", row)
    assert added
    changed = imported + "\n" + own.replace("const VIEWS = { ", f"const VIEWS = {{ {added.group(1)}, ")
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)

    def instead(name: str, text: str) -> None:
        page.route(f"**/{name}", lambda route: route.fulfill(body=text, content_type="text/javascript"))

    instead("rank.js", module)
    instead("app.js", changed)
    page.goto(f"{address}/#chest-pain")
    page.wait_for_selector("[data-do]")
    page.click("[data-tab='Rank']")
    page.wait_for_selector("h2:has-text('Ranking')")
    asked = httpx.post(f"{address}/api/v1/advise", json={"problem": "chest-pain"}, timeout=PATIENCE).json()
    told = page.locator("main ol li").all_inner_texts()
    assert [line.split(":")[0] for line in told] == [option["test"] for option in asked["options"]]
    page.close()


# -- dozens of tests ----------------------------------------------------------------------------------------------


def many_tests(count: int = 26) -> str:
    """A model file with more tests than exact look-ahead is quick for."""
    rows = [
        f"  probe-{k}: {{cost: {1 + k % 5}.5, outcomes: [pos, neg], likelihood: "
        f"{{well: [{0.1 + 0.01 * k:.2f}, {0.9 - 0.01 * k:.2f}], ill: [{0.9 - 0.02 * k:.2f}, {0.1 + 0.02 * k:.2f}]}}}}"
        for k in range(count)
    ]
    head = ["name: probes", "unit: EUR", "states: [well, ill]", "prior: [0.7, 0.3]", "tests:"]
    return "\n".join([*head, *rows, "losses: {leave: {well: 0, ill: 100}, treat: {well: 60, ill: 0}}", ""])


def open_probes(page: Any, address: str) -> None:
    body = {"name": "probes", "text": many_tests()}
    assert httpx.post(f"{address}/api/v1/models", json=body, timeout=PATIENCE).status_code == 200
    page.goto(f"{address}/#probes")
    page.reload()
    page.wait_for_selector("main[data-view^='probes '] [data-do]")


def test_a_case_with_dozens_of_tests_by_mouse(page: Any, address: str) -> None:
    open_probes(page, address)
    assert page.locator(".next .kind").get_attribute("data-kind") == "bounded"
    page.wait_for_selector(".ahead-box [data-kind=bounded]")
    shown = page.locator("tr[data-test]:visible")
    assert shown.count() < 26
    page.click("[data-all]")
    playwright.expect(shown).to_have_count(26, timeout=PATIENCE)
    advised = do(page)
    other = "probe-13" if advised != "probe-13" else "probe-14"
    page.fill(".find", other)
    playwright.expect(shown).to_have_count(1, timeout=PATIENCE)
    shown.locator("summary").click()
    shown.get_by_role("button", name="neg").click()
    steps(page, 1)
    assert f"instead of {advised}" in page.locator(".log").inner_text()
    for count in range(2, 28):
        if page.locator("[data-commit]").count():
            break
        page.locator("[data-outcome]").first.click()
        steps(page, count)
    page.click("[data-commit]")
    page.wait_for_selector("[data-closed]")
    assert not page.locator(".ahead-box").count()


@narrow
@pytest.mark.parametrize(("tab", "there"), [("Pathway", ".tree"), ("Compare", "tr.chosen")])
def test_every_part_says_what_it_is(page: Any, address: str, tab: str, there: str) -> None:
    page.click(f"[data-tab='{tab}']")
    page.wait_for_selector(f"main[data-view='chest-pain {tab}'] {there}")
    assert page.locator("main .kind").first.get_attribute("data-kind") == "exact"
    open_probes(page, address)
    page.click(f"[data-tab='{tab}']")
    page.wait_for_selector(f"main[data-view='probes {tab}'] {there}")
    assert page.locator("main .kind").first.get_attribute("data-kind") == "bounded"


@narrow
def test_who_does_not_want_to_wait_can_stop_and_try_again(page: Any) -> None:
    held: list[Any] = []
    page.route("**/api/v1/advise/parts", lambda route: held.append(route))
    page.click("[data-tab='Pathway']")
    page.click("main [data-cancel]")
    page.wait_for_selector("main [data-again]")
    assert "not worked out" in page.locator("main").inner_text()
    page.unroute("**/api/v1/advise/parts")
    page.click("main [data-again]")
    page.wait_for_selector(".tree")


@narrow
def test_advice_is_there_before_what_is_still_to_come(page: Any) -> None:
    """The server's answer ends after the first part: the advice stays, and the rest can be asked for again."""

    def cut(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.body().split(b"\n")[0] + b"\n")

    first = do(page)
    page.route("**/api/v1/advise/parts", cut)
    page.reload()
    page.wait_for_selector(".ahead-box [data-again]")
    assert do(page) == first
    page.unroute("**/api/v1/advise/parts")
    page.click(".ahead-box [data-again]")
    page.wait_for_selector(".ahead-box .large")
    assert do(page) == first
