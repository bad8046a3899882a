// Of every figure in view: its frame, and of each of its texts the box and the height of its letters in pixels.
(() => {
  const box = one => { const b = one.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
  const scale = one => { const m = one.getScreenCTM(); return Math.sqrt(Math.abs(m.a * m.d - m.b * m.c)); };
  const root = document.documentElement;
  const figures = root.tagName === "svg" ? [root] : [...document.querySelectorAll("svg[role=img]")];
  const is_outlined = one => [...one.children].some(
    child => child.tagName === "use" && /#D-|DejaVu/.test(child.getAttribute("href") || child.href.baseVal));
  return figures.filter(one => one.checkVisibility()).map(figure => ({
    frame: box(figure),
    texts: [
      ...[...figure.querySelectorAll("g")].filter(is_outlined).map(
        one => ({size: 100 * scale(one), box: box(one)})),  // outlines are drawn 100 high
      ...[...figure.querySelectorAll("text")].map(
        one => ({size: parseFloat(getComputedStyle(one).fontSize) * scale(one), box: box(one)})),
    ]}));
})()
