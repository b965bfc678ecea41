// Comforts that the page does without: everything is opened for the printer, and what fits its place is no stop of the Tab key.
(() => {
  "use strict";
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const part of opened) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of opened) part.open = false;
    opened = [];
  });
  const stops = () => {
    for (const part of document.querySelectorAll(".scroll")) {
      if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
      else part.removeAttribute("tabindex");
    }
  };
  addEventListener("DOMContentLoaded", stops);
  addEventListener("resize", stops);
  addEventListener("toggle", stops, true);
})();
