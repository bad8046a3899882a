"use strict";
const field = document.getElementById("search");
const count = document.getElementById("count");
const items = [...document.querySelectorAll("li[data-words]")];
function search() {
  const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const item of items) {
    const fits = wanted.every((word) => item.dataset.words.includes(word));
    item.hidden = !fits;
    shown += fits;
  }
  count.textContent = `${shown} of ${items.length}`;
}
field.addEventListener("input", search);
search();
