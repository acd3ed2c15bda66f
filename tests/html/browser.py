# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium by chromedriver and the WebDriver protocol (https://www.w3.org/TR/webdriver2),
with Python's standard library only."""
import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"left": "\ue012", "up": "\ue013", "right": "\ue014", "down": "\ue015", "enter": "\ue007",
        "escape": "\ue00c", "home": "\ue011", "tab": "\ue004"}


def find_browser():
    """(chromedriver, chromium) or None."""
    driver = os.environ.get("CHROMEDRIVER") or shutil.which("chromedriver")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    return (driver, chromium) if driver and chromium else None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    def __init__(self, profile, width=1360, height=900, dark=False):
        driver, chromium = find_browser()
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        self.session = None
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", f"--user-data-dir={profile}",
                     f"--window-size={width},{height}"]
        if dark:
            arguments.append("--blink-settings=preferredColorScheme=0")
        self.wait_for_driver()
        self.session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"binary": chromium, "args": arguments}}}})["sessionId"]

    def wait_for_driver(self):
        for _ in range(100):
            try:
                if self.ask("GET", "/status")["ready"]:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise RuntimeError("chromedriver does not answer")

    def ask(self, method, path, body=None):
        path = f"/session/{self.session}{path}" if self.session else path
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"].split("\n")[0]) from None

    def close(self):
        try:
            self.ask("DELETE", "")
        except (OSError, RuntimeError):
            pass
        self.driver.terminate()
        self.driver.wait()

    def open(self, path):
        """Loads a page and waits for its timeline: milliseconds from navigation to that."""
        self.ask("POST", "/url", {"url": "file://" + os.path.abspath(path)})
        for _ in range(600):
            ready = self.run("return window.cufence ? window.cufence.ready : null")
            if ready is not None:
                return ready
            time.sleep(0.05)
        raise RuntimeError("the timeline did not come: " + "; ".join(self.errors()))

    def run(self, script, *arguments):
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.ask("POST", f"/element/{self.find(selector)}/click", {})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def type(self, selector, text):
        self.ask("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def keys(self, *names):
        pressed = []
        for name in names:
            key = KEYS.get(name, name)
            pressed += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard",
                                                   "actions": pressed}]})

    def wheel(self, selector, x, y, delta):
        """Turns the wheel over a place of an element, counted from its middle."""
        self.ask("POST", "/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": delta, "duration": 0,
             "origin": {ELEMENT: self.find(selector)}}]}]})

    def press(self, selector, x, y, to=None):
        """Clicks at a place of an element, counted from its middle, or drags to another."""
        origin = {ELEMENT: self.find(selector)}
        steps = [{"type": "pointerMove", "x": x, "y": y, "origin": origin, "duration": 0},
                 {"type": "pointerDown", "button": 0}]
        if to:
            steps += [{"type": "pointerMove", "x": to[0], "y": to[1], "origin": origin,
                       "duration": 50}]
        steps += [{"type": "pointerUp", "button": 0}]
        self.ask("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse",
                                                   "actions": steps}]})

    def narrow(self, width=420, height=900):
        """As wide as a phone: a window is not, by its size."""
        self.ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}})

    def wide(self):
        self.ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.clearDeviceMetricsOverride", "params": {}})

    def frame(self):
        """Waits until what was asked for is drawn."""
        self.ask("POST", "/execute/async", {"script": "const done = arguments[0]; requestAnimationFrame("
                                            "() => requestAnimationFrame(() => done(1)))", "args": []})

    def screenshot(self, path, selector=None):
        at = f"/element/{self.find(selector)}/screenshot" if selector else "/screenshot"
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.ask("GET", at)))

    def errors(self):
        return [entry["message"] for entry in
                self.ask("POST", "/se/log", {"type": "browser"}) if entry["level"] != "INFO"]
