#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report of `colshuf inspect --html` in a real browser: nothing sticks out on a telephone, a screen or paper, every word can be read,
nothing is fetched, the console stays silent. Usage: test_browser.py BUILD; exit 77 where there is no Chromium.

KEEP_REPORT=FOLDER keeps the pages, pictures and documents, to be looked at.
"""
import collections
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile

import chromium

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))
import harness  # noqa: E402

SCREENS = {"telephone": 390, "screen": 1280}
PAPER = 688  # CSS pixels between the margins of an A4 page
LEAST_FONT, LEAST_CONTRAST = 10.5, 4.5

# What sticks out of the page or out of its own box. Inside of a drawing nothing can: its box is stretched to the page.
STICKS_OUT = """[...document.body.querySelectorAll('*')].filter(e => !e.closest('svg') || e.tagName === 'svg').filter(e => {
  const box = e.getBoundingClientRect();
  return box.right > innerWidth + 1 || box.left < -1 || (e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1);
}).map(e => e.tagName + ' ' + e.className + ': ' + e.textContent.trim().slice(0, 40))"""

# Every element with text of its own: how large it is, and how far its colour is from what lies behind it (WCAG's contrast).
TEXTS = """(() => {
  const parts = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => parts(c).slice(0, 3).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor, p = parts(c);
    if (p.length < 4 || p[3] > 0) return c; } return 'rgb(255, 255, 255)'; };
  return [...document.body.querySelectorAll('*')].filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
    .filter(e => e.tagName !== 'title').map(e => {
      const a = light(getComputedStyle(e).color), b = light(behind(e));
      return [e.textContent.trim().slice(0, 40), parseFloat(getComputedStyle(e).fontSize), (Math.max(a, b) + .05) / (Math.min(a, b) + .05)];
    });
})()"""

# The text of what no line break divides.
WORDS = "[...document.querySelectorAll('td.n, h2, .card, .axis span')].map(e => e.innerText).join(' ')"


class Page:
    """One report, open in the browser."""

    def __init__(self, browser, path, folder):
        self.browser, self.path, self.folder = browser, path, folder
        self.name = os.path.splitext(os.path.basename(path))[0]

    def open(self):
        self.browser.medium()
        self.browser.open(self.path)

    def kept(self, ending):
        return os.path.join(self.folder, f"{self.name}-{ending}")


def need(condition, said):
    if not condition:
        raise AssertionError(said)


def need_fits(browser, width):
    out = browser.run(STICKS_OUT)
    need(not out, f"sticks out at {width} pixels: {out[:5]}")
    wide = browser.run("document.documentElement.scrollWidth")
    need(wide <= width, f"the page is {wide} pixels wide, the window {width}")


def need_readable(browser):
    texts = browser.run(TEXTS)
    need(len(texts) > 20, f"only {len(texts)} pieces of text")
    small = [text for text in texts if text[1] < LEAST_FONT]
    need(not small, f"smaller than {LEAST_FONT} pixels: {small[:3]}")
    faint = [text for text in texts if text[2] < LEAST_CONTRAST]
    need(not faint, f"contrast below {LEAST_CONTRAST}: {faint[:3]}")


def need_silent(browser, path):
    asked = [parameters["request"]["url"] for method, parameters in browser.events if method == "Network.requestWillBeSent"]
    need(asked and all(url.startswith("file://") and url.endswith(".html") for url in asked), f"asked for {asked}, not only for {path}")
    need(len(asked) == 1, f"more than the page is fetched: {asked}")
    noise = [parameters for method, parameters in browser.events
             if method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")]
    need(not noise, f"the console says {noise[:2]}")


def check_screen(page, kind, scheme):
    page.open()
    page.browser.resize(SCREENS[kind])
    page.browser.medium(scheme=scheme)
    need_fits(page.browser, SCREENS[kind])
    need_readable(page.browser)
    ground = page.browser.run("getComputedStyle(document.body).backgroundColor")
    need((ground == "rgb(255, 255, 255)") == (scheme == "light"), f"the ground is {ground} in {scheme}")
    picture = page.browser.screenshot(page.kept(f"{kind}-{scheme}.png"))
    need(len(picture) > 15000, f"a picture of {len(picture)} bytes shows nothing")


def check_silent(page):
    page.open()
    need_silent(page.browser, page.path)


def check_print_layout(page):
    page.open()
    page.browser.medium("print", "dark")  # whoever likes it dark has white paper all the same
    page.browser.resize(PAPER)
    need_fits(page.browser, PAPER)
    need_readable(page.browser)
    page.browser.medium()


def boxes(document):
    """(page width, page height, [(word, left, top, right, bottom)]) of each page, as pdftotext sees them."""
    text = subprocess.run(["pdftotext", "-bbox", document, "-"], check=True, capture_output=True).stdout.decode()
    pages = []
    for width, height, body in re.findall(r'<page width="([\d.]+)" height="([\d.]+)">(.*?)</page>', text, re.S):
        words = re.findall(r'<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)">(.*?)</word>', body)
        pages.append((float(width), float(height), [(w[4], *map(float, w[:4])) for w in words]))
    return pages


def check_paper(page):
    page.open()
    page.browser.resize(SCREENS["screen"])
    words = page.browser.run(WORDS).split()
    need(len(words) > 30, f"only {len(words)} words")
    page.browser.medium("")
    document = page.browser.pdf(page.kept("paper.pdf"), preferCSSPageSize=False)
    need(document.startswith(b"%PDF") and len(document) > 10000, f"a document of {len(document)} bytes")
    if not shutil.which("pdftotext"):
        return
    pages = boxes(page.kept("paper.pdf"))
    need(pages, "no page in the document")
    for width, height, found in pages:
        outside = [w for w in found if w[1] < 20 or w[2] < 0 or w[3] > width - 20 or w[4] > height]
        need(not outside, f"outside of the paper or in its margin: {outside[:3]}")
    printed = collections.Counter(html.unescape(word[0]) for _, _, found in pages for word in found)
    missing = collections.Counter(words) - printed
    need(not missing, f"not on paper: {dict(missing.most_common(10))}")


def check_controls(browser, folder):
    """The checks above see what they are for: a page that does all of it wrong."""
    path = os.path.join(folder, "wrong.html")
    with open(path, "w", encoding="utf-8") as out:
        out.write('<meta name="viewport" content="width=device-width"><body><div style="width:3000px">wide</div>'
                  + '<p style="color:#ccc;background:#fff;font-size:5px">faint</p>' * 30
                  + '<img src="nowhere.png"><script>console.error("no")</script>')
    browser.open(path)
    browser.resize(390)
    browser.run("new Promise(done => setTimeout(done, 100))")
    for check in (lambda: need_fits(browser, 390), lambda: need_readable(browser), lambda: need_silent(browser, path)):
        try:
            check()
        except AssertionError:
            continue
        raise AssertionError("a check lets pass what it must not")


def damaged(build, folder, name):
    """A copy of the output NAME with two blocks overwritten."""
    for ending in ("data", "index"):
        shutil.copy(f"{name}.{ending}", os.path.join(folder, "damaged." + ending))
    path = os.path.join(folder, "damaged.data")
    with open(path, "r+b") as data:
        for at in (100, os.path.getsize(path) // 2):
            data.seek(at)
            data.write(b"X" * 16)
    return path


def make_reports(build, folder):
    """Pages of as many kinds of files as there are: {name: path}."""
    def make(kind, *arguments):
        path = os.path.join(folder, f"{kind}-{'-'.join(arguments)}.arrows")
        with open(path, "wb") as out:
            subprocess.run([os.path.join(build, "tests", "make_table"), kind, *arguments], check=True, stdout=out)
        return path

    def write(name, table, *arguments):
        out = os.path.join(folder, name)
        harness.colshuf("write", table, "-o", out, *arguments)
        return out

    files = {}
    plain = write("a name that is rather <long> & odd, as those of executors with attempts are", make("plain", "60000"), "-n", "20", "--hash",
                  "id", "--offsets", "plain", "--no-dictionary")
    files["plain"] = plain + ".data"
    files["damaged"] = damaged(build, folder, plain)
    files["types"] = write("types", make("types"), "--single", "--compat", "arrow") + ".data"
    files["many"] = write("many", make("plain", "20000"), "-n", "2000", "--hash", "id", "--codec", "zstd") + ".data"
    files["empty"] = write("empty", make("plain", "0"), "-n", "3", "--hash", "id") + ".data"
    files["bare"] = os.path.join(folder, "bare")
    shutil.copy(files["types"], files["bare"])
    comet = os.path.join(harness.DATA, "comet", "native-lz4", "hash_k8", "shuffle_0_2_0.data")
    if os.path.exists(comet):
        files["comet"] = comet
    pages = {}
    for name, path in files.items():
        pages[name] = os.path.join(folder, name + ".html")
        harness.colshuf("inspect", path, "--html", pages[name], status=1 if name == "damaged" else 0)
    return pages


def main():
    build = os.path.abspath(sys.argv[1])
    harness.COLSHUF = os.path.join(build, "colshuf")
    program = chromium.find()
    if program is None:
        print("  skip the report in a browser: no chromium")
        sys.exit(77)
    suite = harness.Suite()
    if not shutil.which("pdftotext"):
        print("  skip the words of printed reports: no pdftotext")
        suite.counts["skipped"] += 1
    keep = os.environ.get("KEEP_REPORT")
    folder = keep or tempfile.mkdtemp(prefix="colshuf-report-")
    browser = chromium.Chromium(program)
    try:
        suite.check("the checks see a page that is wrong", check_controls, browser, folder)
        for name, path in make_reports(build, folder).items():
            page = Page(browser, path, folder)
            for kind in SCREENS:
                for scheme in ("light", "dark"):
                    suite.check(f"{name} fits and can be read: {kind}, {scheme}", check_screen, page, kind, scheme)
            suite.check(f"{name} fetches nothing and says nothing", check_silent, page)
            suite.check(f"{name} fits on paper", check_print_layout, page)
            suite.check(f"{name} printed has every word", check_paper, page)
    finally:
        browser.close()
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    suite.finish()


if __name__ == "__main__":
    main()
