// The terminal's script looks for the address of its socket when the page has loaded.
document.addEventListener("DOMContentLoaded", () => {
  const socket = new URL(window.location.href);
  socket.protocol = socket.protocol === "https:" ? "wss:" : "ws:";
  socket.search = socket.hash = "";
  socket.pathname += window.matchMedia("(prefers-color-scheme: light)").matches ? "socket/light" : "socket/dark";
  document.querySelector("#terminal").dataset.sessionWebsocketUrl = socket.href;
  document.querySelector("#again").addEventListener("click", () => window.location.reload());

  // Keys go to the app as soon as it is there, and it is told that it has them.
  new MutationObserver((_, observer) => {
    const keys = document.querySelector(".xterm-helper-textarea");
    if (keys && document.body.classList.contains("-first-byte")) {
      observer.disconnect();
      keys.blur();
      keys.focus();
    }
  }).observe(document.body, { attributeFilter: ["class"] });
});
