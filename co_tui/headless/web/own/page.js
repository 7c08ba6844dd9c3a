// The app copies through the terminal's script, which hands the text to the browser. Where the browser does not take it
// (a page that came without https, or none that was clicked on), a click of the reader does it. Nothing that the app
// shows can ask what the reader copied elsewhere.
const browsersOwn = navigator.clipboard;
Object.defineProperty(navigator, "clipboard", {
  value: {
    readText: async () => "",
    writeText: async (text) => {
      try {
        await browsersOwn.writeText(text);
        document.body.classList.remove("-copying");
      } catch {
        document.querySelector("#copied").value = text;
        document.body.classList.add("-copying");
      }
    },
  },
});

function copyAfterClick() {
  const field = document.querySelector("#copied");
  field.select();
  const done = document.execCommand("copy");
  document.body.classList.toggle("-copying", !done);
  if (done) {
    field.value = "";
    document.querySelector(".xterm-helper-textarea").focus();
  }
}

// The terminal's script looks for the address of its socket when the page has loaded.
document.addEventListener("DOMContentLoaded", () => {
  const isLight = window.matchMedia("(prefers-color-scheme: light)").matches;
  const socket = new URL(isLight ? "socket/light" : "socket/dark", pageRoot());
  socket.protocol = socket.protocol === "https:" ? "wss:" : "ws:";
  document.querySelector("#terminal").dataset.sessionWebsocketUrl = socket.href;
  document.querySelector("#copy").addEventListener("click", copyAfterClick);
  document.querySelector("#again").addEventListener("click", () => window.location.reload());
  document.querySelector("#new-session").addEventListener("click", () => window.location.assign(pageRoot()));
  document.querySelector("#back").addEventListener("click", () => {
    window.appSocket.bringBack();
    document.querySelector(".xterm-helper-textarea").focus();
  });

  // Give the app the keyboard focus as soon as it is there, and report it.
  new MutationObserver((_, observer) => {
    const keys = document.querySelector(".xterm-helper-textarea");
    if (keys && document.body.classList.contains("-first-byte")) {
      observer.disconnect();
      keys.blur();
      keys.focus();
    }
  }).observe(document.body, { attributeFilter: ["class"] });
});
