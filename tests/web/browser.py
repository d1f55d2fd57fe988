"""A headless Chromium for the tests of the page, and what they ask of it. Python's standard library and Debian's python3-selenium."""
import json, os, shutil, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from patience import Limit  # noqa: E402

SKIP = 77
DYGRAPHS = os.environ.get("RW_DYGRAPHS", "/usr/share/javascript/dygraphs")  # the folder that the program was built with


def need_selenium():
    """This Python may not be the one that has Debian's selenium; then Debian's own goes on."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        if os.path.realpath(sys.executable) != os.path.realpath("/usr/bin/python3") and os.path.exists("/usr/bin/python3"):
            os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
        print("python3-selenium is not installed: not run")
        sys.exit(SKIP)


def binaries():
    chromium = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    driver = shutil.which("chromedriver") or next((p for p in ("/usr/lib/chromium/chromedriver", "/usr/lib/chromium-browser/chromedriver") if os.path.exists(p)), None)
    if not chromium or not driver or not os.path.exists(DYGRAPHS + "/dygraph.min.js"):
        print("chromium, chromium-driver or dygraphs is not installed: not run")
        sys.exit(SKIP)
    return chromium, driver


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


class Browser:
    def __init__(self, width=1440, height=900, dark=True):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        chromium, driver = binaries()
        self.profile = tempfile.mkdtemp(prefix="page-browser-")
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--disable-component-update",
                         "--force-device-scale-factor=1", "--user-data-dir=" + self.profile, "--window-size=%d,%d" % (width, height)):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        try:
            self.driver = webdriver.Chrome(options=options, service=Service(driver))
        except Exception:
            shutil.rmtree(self.profile, ignore_errors=True)
            raise
        self.driver.set_script_timeout(30)
        self.driver.set_page_load_timeout(30)
        self.size(width, height)
        self.dark(dark)
        self.requests = []

    def close(self):
        try:
            self.driver.quit()
        finally:
            shutil.rmtree(self.profile, ignore_errors=True)

    def cdp(self, command, **args):
        return self.driver.execute_cdp_cmd(command, args)

    def size(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, dark):
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        """A fresh load, also where only the part behind # differs."""
        self.driver.get("about:blank")
        self.driver.get(url)

    def js(self, script, *args):
        return self.driver.execute_script(script, *args)

    def js_async(self, script, *args):
        """@script returns a promise."""
        return self.driver.execute_async_script("const done = arguments[arguments.length - 1]; (async () => {" + script + "})().then(done, (e) => done({error: String(e && e.stack || e)}));", *args)

    def wait(self, what, script, deadline_s=20, *args):
        """Until @script (an expression) is true; its value. The page gives up a request after
        20 s and offers to try again, which a person would do."""
        limit = Limit(deadline_s)
        again = time.monotonic() + deadline_s
        while True:
            value = self.js("return " + script, *args)
            if value:
                return value
            if time.monotonic() > again:
                again = time.monotonic() + deadline_s
                self.js("const e = document.querySelector('main p.error button'); if (e && /no answer within/.test(e.parentNode.innerText)) e.click()")
            if limit.over():
                text = self.js("return document.body.innerText.slice(0, 600)")
                raise Failed("%s: not after %s; the page says: %s" % (what, limit, text))
            time.sleep(0.05)

    def text(self, selector="body"):
        return self.js("const e = document.querySelector(arguments[0]); return e ? e.innerText : null", selector)

    def key(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        ActionChains(self.driver).send_keys(*keys).perform()

    def click(self, selector):
        from selenium.webdriver.common.by import By
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def hash(self):
        return self.js("return location.hash")

    def network(self):
        """The addresses that were asked for since the last call."""
        ret = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                ret.append(message["params"]["request"]["url"])
        return ret

    def complaints(self):
        """What stands in the console: errors and warnings since the last call."""
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]

    def fresh(self):
        """Leaves the page, whose server may be gone, and forgets what it complained of and asked for."""
        self.driver.get("about:blank")
        self.complaints()
        self.network()

    def quiet(self, what, origin):
        """No complaint in the console and no request to anybody else."""
        said = self.complaints()
        check(not said, "%s: the console says: %s" % (what, said[:3]))
        foreign = [u for u in self.network() if not u.startswith(origin) and not u.startswith(("about:", "data:", "chrome", "blob:"))]
        check(not foreign, "%s: requests to others: %s" % (what, foreign[:3]))
