// Small screens: letters that leave room for a line, a page as high as what the soft keyboard leaves of it, scrolling
// with a finger, and the keys that a soft keyboard does not have.
const FEWEST_COLUMNS = 44;
const LARGEST_PX = 16;
const SMALLEST_PX = 10;
const LETTER_WIDTH = 0.6; // of the font's size
const LINE_HEIGHT = 1.36;
const LEAST_ROWS = 16; // the app refuses a screen with fewer
const LINE_PX = 20; // a finger moves this far for one line
const KEYS = { esc: "\x1b", tab: "\t", up: "\x1b[A", down: "\x1b[B", stop: "\x03", palette: "\x10" };

function fitLetters() {
  const widest = Math.floor(window.innerWidth / FEWEST_COLUMNS / LETTER_WIDTH);
  const size = Math.max(SMALLEST_PX, Math.min(LARGEST_PX, widest));
  document.querySelector("#terminal").dataset.fontSize = size;
  return size;
}

// Where the soft keyboard leaves fewer rows than the app needs, the upper ones are out of sight.
function keepRows(size) {
  document.documentElement.style.setProperty("--least-height", `${LEAST_ROWS * Math.ceil(size * LINE_HEIGHT)}px`);
}

function fitHeight() {
  const seen = window.visualViewport;
  document.documentElement.style.setProperty("--height", `${seen.height}px`);
  document.documentElement.style.setProperty("--top", `${seen.offsetTop}px`);
  window.dispatchEvent(new Event("resize")); // the terminal fits itself into it
}

// The terminal's script leaves touches alone while the app has the mouse; as a wheel they reach it.
function scrollByFinger() {
  let last = null;
  const terminal = document.querySelector("#terminal");
  terminal.addEventListener("touchstart", (event) => (last = event.touches[0].clientY), { passive: true });
  terminal.addEventListener(
    "touchmove",
    (event) => {
      const { clientX, clientY } = event.touches[0];
      const deltaY = Math.trunc((last - clientY) / LINE_PX);
      if (deltaY) {
        const wheel = { deltaY: Math.sign(deltaY), deltaMode: 1, clientX, clientY, bubbles: true, cancelable: true };
        for (let line = 0; line < Math.abs(deltaY); line += 1) {
          event.target.dispatchEvent(new WheelEvent("wheel", wheel));
        }
        last -= deltaY * LINE_PX;
      }
      event.preventDefault();
    },
    { passive: false },
  );
}

document.addEventListener("DOMContentLoaded", () => {
  const size = fitLetters();
  keepRows(size);
  scrollByFinger();
  document.querySelectorAll("#keys button").forEach((button) => {
    // Without taking the focus, which would close the soft keyboard.
    button.addEventListener("pointerdown", (event) => event.preventDefault());
    button.addEventListener("click", () => window.appSocket.type(KEYS[button.dataset.key]));
  });
  if (window.visualViewport) {
    window.visualViewport.addEventListener("resize", fitHeight);
    window.visualViewport.addEventListener("scroll", fitHeight);
  }
});
