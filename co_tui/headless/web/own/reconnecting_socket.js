// Replaces the browser's WebSocket in the terminal's script, which connects once and never again. This one notices
// a cut connection, connects again by itself, and sends every key once.
const BrowserSocket = window.WebSocket;
const ENDED = 4000; // the codes of `Closed` in open_page.py
const ELSEWHERE = 4001;
const BEAT_MS = 5000;
const MOST_WAITING = 1000; // keys typed without a connection
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10000;
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$/;
const APP = "co-tui app"; // in the tab's own storage: the app it shows
let shownApp = "";

function pageRoot() {
  return new URL(".", window.location.href);
}

function addressedSession() {
  return window.location.pathname.slice(pageRoot().pathname.length);
}

function showInAddress(session) {
  if (session === "" || SESSION_ID.test(session)) {
    const { search, hash } = window.location;
    window.history.replaceState(null, "", pageRoot().pathname + session + search + hash);
  }
}

function randomName() {
  return Array.from(window.crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16)).join("");
}

// A browser that keeps nothing for this page cannot find the app again, but shows it.
function knownApp() {
  try {
    return window.sessionStorage.getItem(APP) || shownApp;
  } catch {
    return shownApp;
  }
}

function rememberApp(app) {
  shownApp = app;
  try {
    window.sessionStorage.setItem(APP, app);
  } catch {
    // not allowed
  }
}

class LastingSocket extends EventTarget {
  constructor(address) {
    super();
    this.address = new URL(address);
    this.name = randomName();
    this.socket = null;
    this.isAttached = false;
    this.isDone = false; // the app has ended, or is in another tab
    this.unanswered = 0;
    this.failures = 0;
    this.typed = []; // [number, text] of keys that may not have arrived
    this.number = 0;
    this.retry = 0;
    this.size = null;
    window.setInterval(() => this.beat(), BEAT_MS);
    window.addEventListener("online", () => this.hurry());
    window.addEventListener("pageshow", () => this.hurry());
    document.addEventListener("visibilitychange", () => this.hurry());
    this.connect(true);
  }

  // `takes`: a person opened this page or asked for the app, so it may be taken from another tab.
  connect(takes) {
    window.clearTimeout(this.retry);
    const address = new URL(this.address);
    const { searchParams } = address;
    searchParams.set("page", this.name);
    searchParams.set("app", knownApp());
    searchParams.set("session", addressedSession());
    searchParams.set("takes", takes ? "yes" : "no");
    if (this.size) {
      searchParams.set("width", this.size.width);
      searchParams.set("height", this.size.height);
    }
    const socket = (this.socket = new BrowserSocket(address));
    socket.binaryType = "arraybuffer";
    socket.onmessage = (event) => this.socket === socket && this.receive(event.data);
    socket.onclose = (event) => this.socket === socket && this.closed(event.code);
    this.isAttached = this.isDone = false;
    this.unanswered = 0;
    document.body.classList.remove("-elsewhere");
  }

  receive(data) {
    this.unanswered = 0;
    if (typeof data !== "string") {
      this.dispatchEvent(new MessageEvent("message", { data }));
      return;
    }
    const [kind, value, received] = JSON.parse(data);
    if (kind === "attached") {
      this.attached(value);
    } else if (kind === "session") {
      showInAddress(value);
    } else if (kind === "pong") {
      this.forget(received);
    } else if (kind === "open_url") {
      this.dispatchEvent(new MessageEvent("message", { data }));
    }
  }

  attached({ app, new: isNew, received }) {
    if (isNew || app !== knownApp()) {
      this.typed = []; // meant for what was on the screen then
    }
    rememberApp(app);
    this.forget(received);
    this.isAttached = true;
    this.failures = 0;
    document.body.classList.remove("-lost");
    this.dispatchEvent(new Event("open")); // sends the size
    if (document.hasFocus()) {
      this.post(["focus"]);
    }
    this.typed.forEach(([number, text]) => this.post(["stdin", text, number]));
  }

  forget(received) {
    this.typed = this.typed.filter(([number]) => number > received);
  }

  closed(code) {
    this.isAttached = false;
    this.socket = null;
    if (code === ENDED) {
      this.isDone = true;
      document.body.classList.remove("-lost");
      this.dispatchEvent(new Event("close"));
    } else if (code === ELSEWHERE) {
      this.isDone = true;
      this.typed = [];
      document.body.classList.remove("-lost");
      document.body.classList.add("-elsewhere");
    } else {
      this.lost();
    }
  }

  lost() {
    document.body.classList.add("-lost");
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.failures);
    this.failures += 1;
    window.clearTimeout(this.retry);
    this.retry = window.setTimeout(() => this.connect(false), longest * (0.5 + Math.random() / 2));
    this.findOut();
  }

  // A server that was restarted may have another address, which only the person who started it knows.
  async findOut() {
    const answer = await window.fetch(pageRoot(), { cache: "no-store" }).catch(() => null);
    if (answer !== null && answer.status === 403 && this.socket === null) {
      window.clearTimeout(this.retry);
      this.isDone = true;
      document.body.classList.remove("-lost");
      document.body.classList.add("-moved");
    }
  }

  // Nothing heard since the last two beats: cut. An app that starts may take longer.
  beat() {
    if (this.socket === null) {
      return;
    }
    if (this.unanswered >= (this.isAttached ? 2 : 5)) {
      const silent = this.socket;
      this.closed(0);
      silent.close();
      return;
    }
    this.unanswered += 1;
    this.post(["ping", ""]);
  }

  // The machine woke up, or has a network again: do not wait for the next try.
  hurry() {
    if (document.visibilityState !== "visible" || this.isDone) {
      return;
    }
    if (this.socket === null) {
      this.connect(false);
    } else {
      this.post(["ping", ""]);
    }
  }

  bringBack() {
    this.connect(true);
  }

  post(message) {
    if (this.socket !== null && this.socket.readyState === BrowserSocket.OPEN) {
      this.socket.send(JSON.stringify(message));
    }
  }

  // What the terminal's script sends.
  send(data) {
    const message = JSON.parse(data);
    const [kind, value] = message;
    if (kind === "stdin") {
      this.type(value);
    } else if (kind === "resize") {
      this.size = value;
      this.post(message);
    } else if (kind === "focus" || kind === "blur") {
      this.post(message);
    }
  }

  type(text) {
    const isMouse = text.startsWith("\x1b[<") || text.startsWith("\x1b[M");
    if (this.isDone || (!this.isAttached && (isMouse || this.typed.length >= MOST_WAITING))) {
      return;
    }
    this.number += 1;
    this.typed.push([this.number, text]);
    if (this.isAttached) {
      this.post(["stdin", text, this.number]);
    }
  }
}

window.WebSocket = class extends LastingSocket {
  constructor(address) {
    super(address);
    window.appSocket = this; // for the page's buttons
  }
};
