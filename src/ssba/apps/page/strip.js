/** Strips: how a column is spread over the data, coloured by what the model says, with marks on it. */

import { svg } from "./dom.js";
import S from "./strings.en.js";

/** The class that colours a group: the target, or one of the others. */
export function groupLook(groups, i) {
  return groups[i].reached === true ? "g-target" : `g-${Math.min(i, 3)}`;
}

/**
 * Draw the distribution of a column as bars, one on the other for each group.
 * @param {import("./known.js").Column} column
 * @param {Object[]} groups
 * @param {[number, number]} span what the strip shows, from left to right
 */
function bars(column, groups, [low, high]) {
  const { counts } = column.strip;
  const bins = counts[0]?.length ?? 0;
  const totals = Array.from({ length: bins }, (_, bin) => counts.reduce((sum, one) => sum + one[bin], 0));
  const top = Math.max(1, ...totals);
  const from = column.hasLevels ? -0.5 : column.strip.low;
  const width = ((column.hasLevels ? bins - 0.5 : column.strip.high) - from) / Math.max(1, bins);
  const percent = (place) => ((place - low) / (high - low)) * 100;
  const drawn = [];
  for (let bin = 0; bin < bins; bin += 1) {
    let y = 100;
    counts.forEach((one, group) => {
      const height = (one[bin] / top) * 100;
      y -= height;
      const x = percent(from + bin * width);
      const right = percent(from + (bin + 1) * width);
      if (height) {
        drawn.push(svg("rect", {
          class: groupLook(groups, group),
          x: `${x}%`, y: `${y}%`, width: `${Math.max(0.4, right - x - 0.3)}%`, height: `${height}%`,
        }));
      }
    });
  }
  return svg("svg", { width: "100%", height: "100%" }, ...drawn);
}

/** The span of a strip; levels have half a place on either side. */
export function stripSpan(column, ...others) {
  return column.hasLevels ? [-0.5, column.levels.length - 0.5] : column.span(...others);
}

/**
 * Draw a strip with marks.
 * @param {Object} known
 * @param {import("./known.js").Column} column
 * @param {{now?: any, proposed?: any, low?: any, high?: any, isShort?: boolean}} marks values to mark, the allowed range
 * @param {[number, number]} [span]
 */
export function strip(known, column, marks, span = stripSpan(column, marks.now, marks.proposed, marks.low, marks.high)) {
  return new Strip(known, column).draw(marks, span);
}

/** A strip that is drawn again and again: its bars, which are many, are kept as long as its span is. */
export class Strip {
  #span = "";

  constructor(known, column) {
    Object.assign(this, { known, column });
  }

  /** Return the strip with other marks. */
  draw(marks, span) {
    if (this.#span !== span.join()) {
      this.#span = span.join();
      this.bars = bars(this.column, this.known.groups, span);
    }
    return marked(this.column, marks, span, this.bars);
  }
}

function marked(column, marks, span, distribution) {
  const at = (value) => {
    const place = column.place(value);
    return place === null ? null : `${(((place - span[0]) / (span[1] - span[0])) * 100).toFixed(3)}%`;
  };
  const now = at(marks.now);
  const then = at(marks.proposed);
  const moves = now !== null && then !== null && now !== then;
  const label = moves
    ? S.arrow(column.name, column.show(marks.now, true), column.show(marks.proposed, true))
    : S.stripLabel(column.name, spread(column));
  return svg("svg", { class: "strip", role: "img", "aria-label": label },
    allowed(column, marks, span),
    distribution,
    moves && svg("line", { class: "arrow", x1: now, y1: "50%", x2: then, y2: "50%" }),
    now !== null && mark(now, svg("circle", { class: "now", r: 4.5 })),
    moves && mark(then, arrowHead(parseFloat(then) > parseFloat(now), marks.isShort)));
}

function allowed(column, { low, high }, span) {
  if (low === undefined || column.hasLevels) return null;
  const [from, to] = [low, high].map((end, i) => {
    const place = column.place(end) ?? span[i];
    return ((Math.min(Math.max(place, span[0]), span[1]) - span[0]) / (span[1] - span[0])) * 100;
  });
  return svg("rect", { class: "allowed", x: `${from}%`, y: 0, width: `${Math.max(0.5, to - from)}%`, height: "100%" });
}

function arrowHead(isRight, isShort) {
  const points = isRight ? "6,0 -5,-5.5 -5,5.5" : "-6,0 5,-5.5 5,5.5";
  return svg("polygon", { class: isShort ? "then short" : "then", points });
}

/** Put a mark of its own size at a place in percent. */
function mark(x, shape) {
  return svg("svg", { x, y: "50%", overflow: "visible", width: 1, height: 1 }, shape);
}

function spread(column) {
  if (column.hasLevels) {
    return column.levels
      .map((level, i) => `${level} ${column.strip.counts.reduce((sum, one) => sum + one[i], 0)}`).join(", ");
  }
  return S.stripRange(column.show(column.value(column.low)), column.show(column.value(column.high), true));
}
