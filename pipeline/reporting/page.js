document.querySelectorAll(".frame").forEach(frame => {
  const points = [...frame.querySelectorAll(".points i")], out = frame.parentNode.querySelector("output");
  if (!points.length) return;
  let at = -1;
  const show = k => {
    if (at >= 0) points[at].classList.remove("on");
    at = k;
    points[at].classList.add("on");
    out.textContent = points[at].dataset.t;
  };
  points.forEach((point, k) => ["mouseenter", "click"].forEach(e => point.addEventListener(e, () => show(k))));
  frame.tabIndex = 0;
  frame.classList.add("live");
  frame.addEventListener("focus", () => show(Math.max(at, 0)));
  frame.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    const to = step ? at + step : {Home: 0, End: points.length - 1}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(Math.min(Math.max(to, 0), points.length - 1));
  });
});
