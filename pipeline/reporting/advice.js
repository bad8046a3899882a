const DATA = JSON.parse(document.getElementById("data").textContent), $ = id => document.getElementById(id);
const Z = 1.96, STEPS = 200, POINTS = 240, DASHES = ["", "7 4", "2 4", "9 3 2 3"];
const MARKS = [(x, y) => `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0`, (x, y) => `M${x - 3} ${y - 3}h6v6h-6z`,
  (x, y) => `M${x} ${y - 4}l4 7h-8z`, (x, y) => `M${x} ${y - 4.5}l4 4.5l-4 4.5l-4-4.5z`];
const range = (low, high, count) => Array.from({length: count}, (_, k) => low + (high - low) * k / (count - 1));

const own = (one, list) => list.filter((_, k) => one.axes.includes(problem.axes[k].name));  // of the axes of its cells

function prepared(one, metric, at) {  // tables of a mechanism at some sizes; at: null for what stays
  const axes = own(one, problem.axes.map(axis => axis.logs)), there = scale(metric.limits)[0];
  at = own(one, at);
  const mean = one.mean[metric.name].map(there), error = one.error[metric.name].map(Math.log);
  return {axes: axes.filter((_, k) => at[k] === null), smooth: reduced(mean, axes, at, true),
    straight: reduced(mean, axes, at, false), error: reduced(error, axes, at, false)};
}

function bands(tables, metric, positions) {  // mean, low, high at positions of the one axis that is left
  const back = scale(metric.limits)[1], [x] = tables.axes, [low, high] = metric.limits;
  const [smooth, straight, error] = [between(x, tables.smooth, true), between(x, tables.straight, false),
    between(x, tables.error, false)];
  return positions.map(at => {
    const mean = back(smooth(at)), half = Z * Math.exp(error(at)) + Math.abs(mean - back(straight(at)));
    return [mean, Math.max(mean - half, low ?? -Infinity), Math.min(mean + half, high ?? Infinity)];
  });
}

function crossing(positions, excess) {  // where excess first is at most 0; null if nowhere, or at once
  const k = excess.findIndex(one => one <= 0);
  if (k < 1) return null;
  return positions[k - 1] + (positions[k] - positions[k - 1]) * excess[k - 1] / (excess[k - 1] - excess[k]);
}

function begins(positions, found, metric, target) {  // low end, estimate, high end
  const sign = metric.sign, excess = end => found.map(band => sign * (end(band) - target));
  const mean = band => band[0], low = band => band[1], high = band => band[2];
  const [better, worse] = sign > 0 ? [low, high] : [high, low];
  return [better, mean, worse].map(end => crossing(positions, excess(end)));
}

/* What is shown. */
const digits = (value, count = 3) => Number.isFinite(value) ? Number(value.toPrecision(count)).toLocaleString("en", {
  maximumSignificantDigits: count}) : "…";
const words = name => name.replaceAll("_", " ");
const text = (x, y, what, more = "") => `<text x="${x}" y="${y}" ${more}>${what}</text>`;
const escaped = what => what.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);
let problem, metric, sizes, target, epsilon;

const along = (axis, step) => axis.logs[0] + (axis.logs.at(-1) - axis.logs[0]) * step / STEPS;
const rounded = (axis, value) => axis.whole ? Math.round(Number(value.toPrecision(value < 1000 ? 3 : 2))) : Number(value.toPrecision(2));
function inside(axis, value) { return Math.min(Math.max(value, axis.levels[0]), axis.levels.at(-1)); }
function reach() {  // of the target's slider, on the metric's scale
  const there = scale(metric.limits)[0], all = problem.mechanisms.flatMap(one => one.mean[metric.name]).map(there);
  return [Math.min(...all), Math.max(...all)];
}

function chooseProblem(start) {
  problem = DATA.problems.find(one => one.key === $("problem").value);
  $("metric").innerHTML = problem.metrics.map(one => `<option value="${one.name}">${escaped(one.label)}</option>`).join("");
  if (start?.metric) $("metric").value = start.metric;
  $("sizes").innerHTML = problem.axes.slice(0, -1).map((axis, k) => `<p class="slider"><label for="size-${k}">` +
    `${escaped(axis.label)}</label><output id="shown-${k}" for="size-${k}"></output>` +
    `<input type="range" id="size-${k}" min="0" max="${STEPS}" step="1"></p>`).join("");
  sizes = problem.axes.slice(0, -1).map(axis => inside(axis, start?.sizes[axis.name] ?? axis.usual));
  problem.axes.slice(0, -1).forEach((axis, k) => {
    const slider = $(`size-${k}`);
    slider.value = STEPS * (Math.log(sizes[k]) - axis.logs[0]) / (axis.logs.at(-1) - axis.logs[0]);
    slider.addEventListener("input", () => { sizes[k] = inside(axis, rounded(axis, Math.exp(along(axis, +slider.value)))); draw(); });
  });
  const kinds = problem.risks;
  $("risk").innerHTML = kinds.map(one => `<option value="${one}">${one === "answer" ? "one answer" :
    "all answers of a person"}</option>`).join("");
  $("risk").value = kinds.at(-1) ?? "";
  document.body.classList.toggle("without-risk", !kinds.length);  // cells of some problems know none
  chooseMetric(start);
}

function chooseMetric(start) {
  metric = problem.metrics.find(one => one.name === $("metric").value);
  const [low, high] = reach(), there = scale(metric.limits)[0];
  const usual = isShare(metric.limits) ? odds(metric.sign > 0 ? 0.1 : 0.9) : low + 0.45 * (high - low);
  target = start?.target ?? Number(scale(metric.limits)[1](Math.min(Math.max(usual, low), high)).toPrecision(2));
  $("target").value = STEPS * (there(target) - low) / (high - low);
  $("look").value = STEPS / 2;
  const axis = problem.axes.at(-1), least = draw();
  if (Number.isFinite(least)) {  // begin where the target begins to be met
    $("look").value = STEPS * (least - axis.logs[0]) / (axis.logs.at(-1) - axis.logs[0]);
    draw();
  }
}

function draw() {
  const axis = problem.axes.at(-1), people = problem.axes.findIndex(one => one.name === problem.people);
  const at = [...sizes.map(Math.log), null], positions = range(axis.logs[0], axis.logs.at(-1), POINTS);
  epsilon = Math.exp(along(axis, +$("look").value));
  const found = problem.mechanisms.map(one => {
    const tables = prepared(one, metric, at), values = bands(tables, metric, positions);
    const wide = prepared(one, metric, at.map((x, k) => k === people ? null : x));
    const needed = range(axis.logs[0], axis.logs.at(-1), 60).map(x => [x, peopleAt(wide, people, x)]);
    const told = one.risk[$("risk").value], risk = told && reduced(told.map(odds), own(one, problem.axes.map(a => a.logs)), own(one, at), true);
    const risks = risk && between(axis.logs, risk, true);
    const logs = one.whole.length && reduced(one.whole.map(Math.log), own(one, problem.axes.map(a => a.logs)), own(one, at), true);
    return {one, values, needed, begins: begins(positions, values, metric, target),
      look: bands(tables, metric, [Math.log(epsilon)])[0], people: peopleAt(wide, people, Math.log(epsilon)),
      whole: logs ? Math.exp(logs[0]) : NaN,  // of all answers of a person, over the budget of one
      risk: risks ? x => 1 / (1 + Math.exp(-risks(x))) : () => NaN};
  });
  say(found, axis, people);
  $("chart").innerHTML = chart(found, axis, positions, people);
  return Math.min(...found.map(one => one.begins[1] ?? Infinity));
}

function peopleAt(wide, people, x) {
  if (people < 0) return NaN;
  const axis = problem.axes[people], only = which => reduced(which, wide.axes, [null, x], which === wide.smooth);
  const tables = {axes: [axis.logs], smooth: only(wide.smooth), straight: only(wide.straight), error: only(wide.error)};
  const positions = range(axis.logs[0], axis.logs.at(-1), POINTS);
  const found = begins(positions, bands(tables, metric, positions), metric, target)[1];
  return found === null ? NaN : Math.exp(found);
}

const interval = ends => `[${ends.map(x => x === null ? "…" : digits(Math.exp(x))).join(", ")}]`;
const called = one => words(one.name) + (one.trusted ? ` (trusted: ${one.trusted})` : "");
const total = (one, x) => Number.isFinite(one.whole) ? `; all answers of a person: about ${digits(one.whole * Math.exp(x))} nats` : "";
const percent = value => Number.isFinite(value) ? `${(100 * value).toPrecision(3)} %` : "–";

function say(found, axis, people) {
  problem.axes.slice(0, -1).forEach((one, k) => {
    $(`shown-${k}`).textContent = digits(sizes[k], 6);
    $(`size-${k}`).setAttribute("aria-valuetext", digits(sizes[k], 6));
  });
  const relation = metric.sign > 0 ? "≤" : "≥", asked = `${escaped(metric.label)} ${relation} ${digits(target)}`;
  $("shown-target").textContent = `${relation} ${digits(target)}`;
  $("target").setAttribute("aria-valuetext", `${relation} ${digits(target)}`);
  $("shown-look").textContent = digits(epsilon);
  $("look").setAttribute("aria-valuetext", `${axis.short} ${digits(epsilon)}`);
  const able = found.filter(one => one.begins[1] !== null).sort((a, b) => a.begins[1] - b.begins[1]), best = able[0];
  const at = best && Math.exp(best.begins[1]), missed = found.map(one => one.values.at(-1)[0]);
  const always = found.find(one => metric.sign * (one.values[0][0] - target) <= 0);
  $("answer").innerHTML = always ? `<b>The target is met at every ${axis.short} of the atlas</b> with ` +
    `${words(always.one.name)}: choose a harder target.` : best ? `<b>${asked} from ${axis.short} = ${digits(at)} on</b>, ` +
    `in ${interval([best.begins[0], best.begins[2]])}, with ${called(best.one)}${total(best, best.begins[1])}.` :
    `<b>Out of reach</b> at every ${axis.short} of the atlas: ${escaped(metric.label)} is ` +
    `${digits(metric.sign > 0 ? Math.min(...missed) : Math.max(...missed))} at ${axis.short} = ${digits(axis.levels.at(-1))}.`;
  const named = found.map((one, k) => '<svg class="swatch" width="34" height="12" aria-hidden="true"><path ' +
    `class="line m${k}" d="M1 6h32" stroke-dasharray="${DASHES[k]}"/><path class="mark m${k}" d="${MARKS[k](17, 6)}"/></svg> ` +
    called(one.one));
  $("legend").innerHTML = named.map(one => `<li>${one}</li>`).join("");
  $("rows").innerHTML = found.map((one, k) => `<tr><th scope="row">${named[k]}</th><td data-value="${one.begins[1] === null ? "" : Math.exp(one.begins[1])}">` +
    `${one.begins[1] === null ? "–" : `${digits(Math.exp(one.begins[1]))} ${interval([one.begins[0], one.begins[2]])}`}` +
    `${one.begins[1] === null ? "" : total(one, one.begins[1])}</td>` +
    `<td class="of-risk">${percent(one.begins[1] === null ? NaN : one.risk(one.begins[1]))}</td><td>${digits(one.look[0])} ` +
    `[${digits(one.look[1])}, ${digits(one.look[2])}]</td>` +
    `<td>${Number.isFinite(one.people) ? digits(Math.ceil(one.people)) : "–"}</td>` +
    `<td class="of-risk">${percent(one.risk(Math.log(epsilon)))}</td></tr>`).join("");
  document.querySelectorAll(".budget").forEach(one => { one.textContent = axis.short; });
  document.querySelectorAll(".look").forEach(one => { one.textContent = digits(epsilon); });
  const common = one => problem.mechanisms.every(other => other.axes.includes(one.name));  // one mechanism alone has others
  const asks = best && problem.axes.some(one => !common(one) && best.one.axes.includes(one.name)) ? best.one : null;
  const given = problem.axes.slice(0, -1).flatMap((one, k) => common(one) || asks?.axes.includes(one.name) ?
    [`${one.name}=${sizes[k]}`] : []);
  for (const [half, whole] of Object.entries(metric.halves)) {
    const k = problem.axes.findIndex(one => one.name === whole);
    given.push(`${half}=${Math.floor(sizes[k] / 2)}`);
  }
  if (asks) given.unshift(`mechanism=${asks.name}`);
  const fixed = Object.entries(problem.parameters).map(([name, value]) => `${name}='${value}'`);
  $("command").textContent = ["pipeline task=advise", `problem=${problem.name}`, ...given, ...fixed, `unknown=${problem.unknown}`,
    `target='${metric.name}${metric.sign > 0 ? "<=" : ">="}${target}'`].join(" ");
  const lines = found.flatMap(one => range(axis.logs[0], axis.logs.at(-1), POINTS).map((x, k) => [problem.name, one.one.name,
    one.one.estimator, ...sizes.map((v, j) => one.one.axes.includes(problem.axes[j].name) ? v : ""), Math.exp(x).toPrecision(6), metric.name, ...one.values[k].map(v => v.toPrecision(5))].join(",")));
  const heads = ["problem", "mechanism", "estimator", ...problem.axes.map(one => one.name), "metric", "mean", "low", "high"];
  $("csv").href = "data:text/csv;charset=utf-8," + encodeURIComponent([heads.join(","), ...lines, ""].join("\n"));
}

/* The chart: three panels above one axis. */
function ticks(low, high, log, most) {
  if (!log) {
    const rough = (high - low) / Math.min(most, 5), ten = 10 ** Math.floor(Math.log10(rough));
    const step = ten * [1, 2, 2.5, 5, 10].find(one => one * ten >= rough * 0.999);
    return Array.from({length: Math.floor(1 + 1e-9 + (high - low) / step)}, (_, k) => low + k * step);
  }
  const decades = range(Math.floor(low / Math.LN10), Math.ceil(high / Math.LN10),
    Math.ceil(high / Math.LN10) - Math.floor(low / Math.LN10) + 1);
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    const all = decades.flatMap(d => steps.map(s => Math.log(s * 10 ** d))).filter(x => x >= low - 1e-9 && x <= high + 1e-9);
    if (all.length <= most || steps.length === 1) return all.filter((_, k) => k % Math.ceil(all.length / most) === 0);
  }
}

function chart(found, axis, positions, people) {
  const width = Math.max($("chart").clientWidth, 260), left = 58, right = 20, gap = 58;
  const x = v => left + (width - left - right) * (v - axis.logs[0]) / (axis.logs.at(-1) - axis.logs[0]);
  const look = x(Math.log(epsilon)), there = isShare(metric.limits) ? v => v : v => Math.log(Math.max(v, 1e-12));
  const all = found.flatMap(one => one.values.flat().concat(target)).map(there).filter(Number.isFinite);
  const panels = [
    {kind: "mean", height: 230, name: metric.label, log: !isShare(metric.limits), low: isShare(metric.limits) ? 0 : Math.min(...all),
      high: isShare(metric.limits) ? Math.min(1, Math.max(...all) * 1.05) : Math.max(...all)},
    people >= 0 && {kind: "people", height: 130, name: `people for the target (${problem.people})`, log: true,
      low: problem.axes[people].logs[0], high: problem.axes[people].logs.at(-1)},
    problem.risks.length && {kind: "risk", height: 110, name: "share found by the best attack, 5 % false alarms", log: false,
      low: 0, high: 1}].filter(Boolean);
  let top = 28, parts = "";
  for (const panel of panels) {
    const {kind, height} = panel, bottom = top + height;
    const y = v => bottom - height * (v - panel.low) / (panel.high - panel.low);
    const inside = v => Math.min(Math.max(y(v), top), bottom);
    const letter = (points, k) => k && Number.isFinite(points[k - 1][1]) ? "L" : "M";
    const point = (points, k) => `${letter(points, k)}${points[k].map(v => v.toFixed(1)).join(" ")}`;
    const path = points => points.map((one, k) => Number.isFinite(one[1]) ? point(points, k) : "").join("");
    const value = v => kind === "risk" ? `${Math.round(100 * v)} %` : digits(panel.log ? Math.exp(v) : v, 2);
    for (const v of ticks(panel.low, panel.high, panel.log, height / 30))
      parts += `<path class="grid" d="M${left} ${y(v)}H${width - right}"/>` +
        text(left - 6, y(v) + 4, value(v), 'text-anchor="end"');
    for (const v of ticks(axis.logs[0], axis.logs.at(-1), true, width / 55))
      parts += `<path class="grid" d="M${x(v)} ${top}V${bottom}"/>` +
        text(x(v), bottom + 22, digits(Math.exp(v)), 'text-anchor="middle"');  // below the lowest number on the left
    parts += text(2, top - 14, escaped(panel.name), 'class="name"');  // above the highest
    parts += `<path class="frame" d="M${left} ${top}V${bottom}H${width - right}"/>`;
    found.forEach((one, k) => {
      const xs = positions.map(x);
      if (kind === "mean") {
        const edge = which => one.values.map((v, j) => [xs[j], inside(there(v[which]))]);
        parts += `<path class="band m${k}" d="${path(edge(1))}L${path(edge(2).reverse()).slice(1)}z"/>`;
      }
      const points = kind === "mean" ? one.values.map((v, j) => [xs[j], inside(there(v[0]))]) :
        kind === "people" ? one.needed.map(([a, v]) => [x(a), y(Math.log(v))]) : positions.map((a, j) => [xs[j], y(one.risk(a))]);
      parts += `<path class="line m${k}" d="${path(points)}" stroke-dasharray="${DASHES[k]}"/>`;
      const at = v => points.reduce((a, b) => Math.abs(b[0] - x(v)) < Math.abs(a[0] - x(v)) ? b : a);
      for (const v of axis.logs)
        if (Number.isFinite(at(v)[1])) parts += `<path class="mark m${k}" d="${MARKS[k](x(v), at(v)[1])}"/>`;
      if (kind === "mean" && one.begins[1] !== null)
        parts += `<path class="begin m${k}" d="M${x(one.begins[1])} ${inside(there(target))}V${bottom}"/>`;
    });
    if (kind === "mean") {
      const wanted = inside(there(target)), beside = wanted < top + 20 ? wanted + 15 : wanted - 5;
      parts += `<path class="target" d="M${left} ${wanted}H${width - right}"/>` +
        text(width - right, beside, `target ${digits(target)}`, 'text-anchor="end" class="name"');
    }
    parts += `<path class="look" d="M${look} ${top}V${bottom}"/>`;
    top = bottom + gap;
  }
  const height = top - gap + 48;
  parts += text((left + width - right) / 2, height - 6, escaped(axis.label), 'text-anchor="middle" class="name"');
  const names = found.map(one => words(one.one.name)).join(", ");
  const seen = [metric.label, ...panels.slice(1).map(one => one.kind === "risk" ? "risk" : "people needed")];
  const said = `${seen.slice(0, -1).join(", ")}${seen.length > 1 ? " and " : ""}${seen.at(-1)} against ${axis.short}, ` +
    `for ${names}; the table has the numbers.`;
  return `<svg role="img" aria-label="${escaped(said)}" viewBox="0 0 ${width} ${height}" width="${width}" ` +
    `height="${height}">${parts}</svg>`;
}

for (const one of DATA.problems)
  one.axes.forEach(axis => { axis.logs = axis.levels.map(Math.log); });
$("problem").innerHTML = DATA.problems.map(one => `<option value="${escaped(one.key)}">${escaped(one.title)}</option>`).join("");
if (DATA.start) $("problem").value = DATA.start.problem;
$("problem").addEventListener("change", () => chooseProblem());
$("metric").addEventListener("change", () => chooseMetric());
$("risk").addEventListener("change", draw);
$("look").addEventListener("input", draw);
$("target").addEventListener("input", () => {
  const [low, high] = reach();
  target = Number(scale(metric.limits)[1](low + (high - low) * $("target").value / STEPS).toPrecision(2));
  draw();
});
addEventListener("resize", draw);
chooseProblem(DATA.start);
