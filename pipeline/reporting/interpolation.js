/* Interpolation between cells, as in pipeline/advice/interpolation.py; a test holds both equal. */
const LEAST = 1e-4;  // a share is taken to be at least this, and at most 1 minus it, before its odds are

const isShare = limits => limits[0] === 0 && limits[1] === 1;

function odds(share) {
  const inside = Math.min(Math.max(share, LEAST), 1 - LEAST);
  return Math.log(inside / (1 - inside));
}

function scale(limits) {  // on which a metric of that range is interpolated, and its inverse
  if (isShare(limits)) return [odds, value => 1 / (1 + Math.exp(-value))];
  return [value => Math.log(Math.max(value, 1e-12)), Math.exp];
}

function endSlope(width, next, rise, nextRise) {  // of a cubic at its first or last level
  const slope = ((2 * width + next) * rise - width * nextRise) / (width + next);
  if (Math.sign(slope) !== Math.sign(rise)) return 0;
  const overshoots = Math.sign(rise) !== Math.sign(nextRise) && Math.abs(slope) > 3 * Math.abs(rise);
  return overshoots ? 3 * rise : slope;
}

function slopes(x, y) {  // of the cubic that is monotone where the values are
  const widths = x.slice(1).map((end, k) => end - x[k]);
  const rises = widths.map((width, k) => (y[k + 1] - y[k]) / width);
  const last = rises.length - 1;
  if (!last) return [rises[0], rises[0]];
  const inner = widths.slice(1).map((width, k) => {
    if (rises[k] * rises[k + 1] <= 0) return 0;
    const before = 2 * width + widths[k], after = width + 2 * widths[k];
    return (before + after) / (before / rises[k] + after / rises[k + 1]);
  });
  const first = endSlope(widths[0], widths[1], rises[0], rises[1]);
  const final = endSlope(widths[last], widths[last - 1], rises[last], rises[last - 1]);
  return [first, ...inner, final];
}

function between(x, y, smooth) {  // a function of the position
  const slope = smooth ? slopes(x, y) : [];
  return position => {
    let k = 0;
    while (k < x.length - 2 && position > x[k + 1]) k++;
    const width = x[k + 1] - x[k], t = (position - x[k]) / width;
    if (!smooth) return y[k] * (1 - t) + y[k + 1] * t;
    const values = y[k] * (1 + 2 * t) * (1 - t) ** 2 + y[k + 1] * t * t * (3 - 2 * t);
    const bends = slope[k] * t * (1 - t) ** 2 + slope[k + 1] * t * t * (t - 1);
    return values + width * bends;
  };
}

function reduced(values, axes, at, smooth) {  // values: in the order of the cells; where `at` is null the axis stays
  let before = 1;
  axes.forEach((levels, axis) => {
    const count = levels.length, after = values.length / before / count;
    if (at[axis] === null) { before *= count; return; }
    const fewer = new Array(before * after);
    for (let b = 0; b < before; b++) {
      for (let a = 0; a < after; a++) {
        const line = levels.map((_, level) => values[(b * count + level) * after + a]);
        fewer[b * after + a] = between(levels, line, smooth)(at[axis]);
      }
    }
    values = fewer;
  });
  return values;
}

