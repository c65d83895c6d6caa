"""A browser for the tests of the page: the machine's own chromium, or the one that is named."""

import os
import shutil

import pytest

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

REFUSED = "422"
"""The browser itself tells of a question that the library refused."""


def chromium():
    """The path of a chromium, or None."""
    named = os.environ.get("CONSILIENCE_BROWSER")
    return named or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )


@pytest.fixture(scope="session")
def browser():
    """A browser that runs as long as the tests do."""
    is_needed = bool(os.environ.get("CONSILIENCE_BROWSER_NEEDED"))
    path = chromium()
    if path is None and is_needed:
        pytest.fail("there is no chromium, and CONSILIENCE_BROWSER_NEEDED asks for one")
    if path is None:
        pytest.skip("there is no chromium; CONSILIENCE_BROWSER names one")
    if is_needed:
        import playwright.sync_api as playwright
    else:
        playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra browser")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()


class Pages:
    """Opens pages and holds them to having no error and asking nothing of anyone else."""

    def __init__(self, browser):
        self.browser = browser
        self.contexts = []
        self.problems = []
        self.requests = []

    def open(self, url, *, wait=True, **choices):
        choices = {"viewport": {"width": 1400, "height": 900}, **choices}
        context = self.browser.new_context(**choices)
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", self._hear)
        page.on("pageerror", lambda problem: self.problems.append(str(problem)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(url)
        if wait:
            page.wait_for_selector("body[data-version='1']", timeout=60_000)
        return page

    def _hear(self, said):
        if said.type == "error" and REFUSED not in said.text:
            self.problems.append(said.text)

    def close(self):
        """Close all pages, as must be done before their server ends."""
        while self.contexts:
            self.contexts.pop().close()


@pytest.fixture
def pages(browser):
    """Pages that are closed at the end; none may have said an error."""
    opened = Pages(browser)
    yield opened
    opened.close()
    assert opened.problems == []
