/** The map: the person among the rows of the data and points of the boundary, over two features or a projection. */

import { ask, isAbort, pause } from "./api.js";
import { el, labelled, replace, select, svg } from "./dom.js";
import { digits } from "./known.js";
import { groupLook } from "./strip.js";
import S from "./strings.en.js";

/** The most units that the picture is wide; on a narrow screen its units are those of the screen, to be read there. */
const WIDTH = 720;
/** About how wide a letter is. */
const LETTER = 6.5;
/** How near the pointer must be to a row, in units of the picture. */
const NEAR = 14;
/** The map comes last: it waits longer than all that belongs to the answer. */
const REST = 1100;

/** The panel of the map. */
export class MapPanel {
  #newest = new AbortController();
  #around = null;

  constructor(root, known, store, choose) {
    Object.assign(this, { root, known, store, choose, result: null, move: null, spot: null });
    const names = known.columns.map((one) => [one.name, one.name]);
    this.view = select([["two", S.mapTwo], ["all", S.mapProjection]], "two", (value) => this.#view(value));
    this.across = select(names, "", (name) => this.#axes(0, name));
    this.up = select(names, "", (name) => this.#axes(1, name));
    this.acrossField = labelled(S.mapAcross, this.across);
    this.upField = labelled(S.mapUp, this.up);
    this.picture = el("div", { class: "map-picture" });
    this.said = el("p", { class: "map-said small", role: "status" });
    this.key = el("ul", { class: "key-list small soft" });
    new ResizeObserver(() => this.drawn && this.#width() !== this.frame.width && this.#draw()).observe(this.picture);
    replace(root, el("div", { class: "head" }, el("div", {}, el("h2", { id: "map-title", text: S.map }),
      el("span", { class: "stale-tag tag", text: S.mapStale })),
      el("div", { class: "fields" }, labelled(S.mapView, this.view), this.acrossField, this.upField)),
    this.picture, this.said, this.key, el("p", { class: "soft small", text: S.mapKeys }));
  }

  /** The two features, or null for the projection; without a choice those that the answer changes most. */
  get axes() {
    const { axes } = this.store.state;
    if (axes !== null) return axes[0] === "" ? null : axes;
    const changed = Object.keys(this.move?.changes ?? {}).map((name) => this.known.byName.get(name));
    const numbers = this.known.columns.filter((one) => !one.hasLevels);
    const wanted = [...changed.filter((one) => !one.hasLevels), ...numbers, ...this.known.columns];
    const [x, y] = [...new Set(wanted)];
    return y ? [x.name, y.name] : null;
  }

  #view(value) {
    const axes = value === "all" ? ["", ""] : null;
    this.store.update({ axes });
  }

  #axes(i, name) {
    const axes = [...(this.axes ?? [this.known.columns[0].name, this.known.columns[0].name])];
    axes[i] = name;
    this.store.update({ axes });
  }

  /** Mark the map as belonging to inputs before. */
  stale() {
    if (this.result === null) return;
    this.root.classList.add("is-stale");
    this.#newest.abort();
  }

  /** Draw the map around another answer. */
  around(result, move) {
    Object.assign(this, { result, move });
    this.show();
  }

  /** Ask for the map and draw it; the newest request wins. */
  async show() {
    if (this.result === null) return;
    this.#newest.abort();
    this.#newest = new AbortController();
    const { signal } = this.#newest;
    const { axes } = this;
    const isChosen = JSON.stringify(axes) !== this.#around?.key;
    this.root.classList.add("is-stale");
    this.#fields(axes);
    try {
      await pause(isChosen ? 0 : REST, signal);
      const key = JSON.stringify(axes);
      const isKnown = this.#around?.key === key;
      const points = this.result.whole.counterfactuals.length ? this.result.whole.counterfactuals : [this.move].filter(Boolean);
      const body = { values: this.result.explanation.query, columns: axes, points: points.map((one) => one.values), surroundings: !isKnown };
      const found = await ask("/api/map", body, { signal });
      if (!isKnown) this.#around = { key, rows: found.rows, boundary: found.boundary };
      this.drawn = { ...found, rows: this.#around.rows, boundary: this.#around.boundary };
      this.#draw();
      this.root.classList.remove("is-stale");
    } catch (error) {
      if (!isAbort(error)) replace(this.said, error.message);
    }
  }

  /** Show which view is chosen. */
  #fields(axes) {
    this.view.value = axes === null ? "all" : "two";
    for (const one of [this.acrossField, this.upField]) one.hidden = axes === null;
    if (axes !== null) [this.across.value, this.up.value] = axes;
  }

  #width() {
    return Math.min(WIDTH, Math.max(300, this.picture.clientWidth || WIDTH));
  }

  /** Divide the picture: its left edge is as wide as the words along it. */
  #divide(axes) {
    const width = this.#width();
    const height = Math.max(300, Math.round(width * 0.58));
    this.frame = { width, height, left: 0, right: width - 18, top: 14, bottom: height - 46 };
    const words = this.#marks(axes[1], height, true).map(([, text]) => text.length);
    this.frame.left = Math.round(36 + LETTER * Math.max(1, ...words));
  }

  #draw() {
    const found = this.drawn;
    this.#divide(found.axes);
    const scale = scaling(found.axes, this.frame);
    const at = (place) => place && [scale.x(place[0]), scale.y(place[1])];
    this.spots = found.rows.map((one) => ({ ...one, xy: jittered(at(one.at), one.row, found.axes, this.frame) }));
    const query = at(found.query);
    const chosen = at(found.points[this.store.state.answer] ?? found.points[0] ?? null);
    const isFound = this.result.explanation.counterfactuals.length > 0;
    this.ring = svg("circle", { class: "ring", r: 8, visibility: "hidden" });
    const drawn = svg("svg", {
      class: "map", viewBox: `0 0 ${this.frame.width} ${this.frame.height}`, role: "img", tabindex: 0,
      "aria-label": S.mapLabel(found.rows.length, found.boundary.length),
    },
    this.#sides(found.sides, scale), this.#box(found.axes, scale), ...this.#ticks(found.axes, scale),
    ...found.boundary.map((one) => svg("path", { class: "boundary", d: cross(at(one)) })),
    ...this.spots.map((one) => this.#dot(one)),
    ...found.points.map((one) => at(one)).filter((one) => one && one !== chosen).map((xy) => diamond(xy, "other")),
    query && chosen && svg("line", { class: "arrow", x1: query[0], y1: query[1], x2: chosen[0], y2: chosen[1] }),
    this.ring,
    query && svg("circle", { class: "query", cx: query[0], cy: query[1], r: 8 }),
    chosen && (chosen[0] !== query?.[0] || chosen[1] !== query?.[1]) && diamond(chosen, isFound ? "answer" : "move"));
    this.#listen(drawn);
    replace(this.picture, drawn);
    replace(this.said, query ? "" : S.mapMissing);
    this.#legend(found, isFound);
  }

  #dot(spot) {
    const look = groupLook(this.known.groups, spot.group);
    const [x, y] = spot.xy;
    return this.known.groups[spot.group].reached === true
      ? svg("circle", { class: `dot ${look}`, cx: x, cy: y, r: 3.2 })
      : svg("rect", { class: `dot ${look}`, x: x - 2.8, y: y - 2.8, width: 5.6, height: 5.6 });
  }

  #sides(sides, scale) {
    if (!sides) return null;
    const edges = (stops, [low, high]) => [low, ...stops.slice(1).map((one, i) => (one + stops[i]) / 2), high];
    const xs = edges(sides.across, scale.across).map(scale.x);
    const ys = edges(sides.up, scale.upward).map(scale.y);
    const cells = sides.reached.flatMap((line, j) => runs(line).map(([from, to]) => svg("rect", {
      class: "side", x: xs[from], y: ys[j + 1], width: Math.max(0, xs[to] - xs[from]), height: Math.max(0, ys[j] - ys[j + 1]),
    })));
    return svg("g", { "aria-hidden": "true" }, ...cells);
  }

  #box(axes, scale) {
    if (axes.some((one) => one.columns.length !== 1)) return null;
    const allowed = this.known.allowed(this.result.check);
    const [[left, right], [bottom, top]] = axes.map((axis) => this.#ends(axis, allowed.get(axis.columns[0])));
    const [x, y] = [scale.x(Math.max(left, scale.across[0])), scale.y(Math.min(top, scale.upward[1]))];
    return svg("rect", {
      class: "box", x, y,
      width: Math.max(2, scale.x(Math.min(right, scale.across[1])) - x),
      height: Math.max(2, scale.y(Math.max(bottom, scale.upward[0])) - y),
    });
  }

  #ends(axis, allowed) {
    const column = this.known.byName.get(axis.columns[0]);
    const now = column.place(this.result.explanation.query[column.name]) ?? axis.low;
    const places = !allowed ? [now] : column.hasLevels ? allowed.levels.map((one) => column.place(one))
      : [column.place(allowed.low) ?? axis.low, column.place(allowed.high) ?? axis.high];
    const half = column.hasLevels ? 0.4 : 0;
    return [Math.min(...places) - half, Math.max(...places) + half];
  }

  #ticks(axes, scale) {
    const { width, height, left, right, top, bottom } = this.frame;
    return [
      svg("path", { class: "frame", d: `M${left} ${top}V${bottom}H${right}` }),
      ...this.#marks(axes[0], right - left, false).map(([place, text]) =>
        svg("text", { x: scale.x(place), y: bottom + 16, "text-anchor": "middle", text })),
      ...this.#marks(axes[1], height, true).map(([place, text]) =>
        svg("text", { x: left - 6, y: scale.y(place) + 4, "text-anchor": "end", text })),
      svg("text", { class: "axis", x: right, y: height - 8, "text-anchor": "end", text: short(this.#title(axes[0]), width / 8) }),
      svg("text", {
        class: "axis", x: 14, y: top, "text-anchor": "end", transform: `rotate(-90 14 ${top})`,
        text: short(this.#title(axes[1]), height / 8),
      }),
    ];
  }

  /** What stands along an axis that is so long; words beside each other need more room than those one above the other. */
  #marks(axis, length, isUp) {
    if (axis.levels.length) {
      const most = isUp ? 11 : Math.max(4, length / axis.levels.length / LETTER);
      return axis.levels.map((level, i) => [i, short(String(level), most)]);
    }
    const column = axis.columns.length === 1 ? this.known.byName.get(axis.columns[0]) : null;
    const count = Math.max(2, Math.min(7, length / (isUp ? 45 : column?.isDate ? 90 : 60)));
    return roundStops(axis, count).map((one) => [one, column?.isDate ? column.show(column.value(one)) : digits(one)]);
  }

  #title(axis) {
    if (axis.columns.length > 1) return S.mapAxis(axis.columns);
    const { unit } = this.known.byName.get(axis.columns[0]);
    return unit ? `${axis.columns[0]} (${unit})` : axis.columns[0];
  }

  #legend(found, isFound) {
    const { groups } = this.known;
    const item = (sign, text) => el("li", {}, svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, sign), text);
    replace(this.key,
      ...groups.map((group, i) => item(group.reached === true
        ? svg("circle", { class: `dot ${groupLook(groups, i)}`, cx: 8, cy: 8, r: 4 })
        : svg("rect", { class: `dot ${groupLook(groups, i)}`, x: 4, y: 4, width: 8, height: 8 }), S.keyRows(this.known.groupName(group)))),
      found.boundary.length ? item(svg("path", { class: "boundary", d: cross([8, 8]) }), S.keyBoundary) : null,
      item(svg("circle", { class: "query", cx: 8, cy: 8, r: 5 }), S.keyQuery),
      this.move ? item(diamond([8, 8], isFound ? "answer" : "move"), isFound ? S.keyAnswer : S.keyMove) : null,
      found.sides ? item(svg("rect", { class: "box", x: 2, y: 3, width: 12, height: 10 }), S.keyBox) : null,
      found.sides ? item(svg("rect", { class: "side", x: 1, y: 1, width: 14, height: 14 }), S.mapSides) : null);
  }

  #listen(drawn) {
    const place = (event) => {
      const box = drawn.getBoundingClientRect();
      return [((event.clientX - box.left) / box.width) * this.frame.width, ((event.clientY - box.top) / box.height) * this.frame.height];
    };
    drawn.addEventListener("pointermove", (event) => this.#name(this.#nearest(place(event))));
    drawn.addEventListener("pointerleave", () => this.#name(null));
    drawn.addEventListener("click", (event) => {
      const spot = this.#nearest(place(event));
      if (spot) this.choose(spot.row);
    });
    drawn.addEventListener("keydown", (event) => this.#step(event));
  }

  #nearest([x, y]) {
    let best = null;
    let least = NEAR;
    for (const spot of this.spots) {
      const far = Math.hypot(spot.xy[0] - x, spot.xy[1] - y);
      if (far < least) [best, least] = [spot, far];
    }
    return best;
  }

  #step(event) {
    if (event.key === "Enter" && this.spot) this.choose(this.spot.row);
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const sorted = [...this.spots].sort((a, b) => a.xy[0] - b.xy[0]);
    const at = sorted.findIndex((one) => one.row === this.spot?.row);
    this.#name(sorted[(at + by + sorted.length) % sorted.length]);
  }

  /** Name the row under the pointer. */
  #name(spot) {
    this.spot = spot;
    this.ring.setAttribute("visibility", spot ? "visible" : "hidden");
    if (!spot) return replace(this.said);
    this.ring.setAttribute("cx", spot.xy[0]);
    this.ring.setAttribute("cy", spot.xy[1]);
    const { axes } = this;
    const values = axes === null ? [] : axes.map((name, i) => {
      const column = this.known.byName.get(name);
      return `${name} ${column.show(column.value(spot.at[i]), true)}`;
    });
    const said = [this.known.groupName(this.known.groups[spot.group]), ...values].join(", ");
    return replace(this.said, S.mapRow(spot.id ?? S.rowName(spot.row), said));
  }
}

function scaling([across, up], frame) {
  const margin = (axis) => (axis.levels.length ? 0 : (axis.high - axis.low) * 0.03);
  const ends = [across, up].map((one) => [one.low - margin(one), one.high + margin(one)]);
  const [[left, right], [bottom, top]] = ends;
  return {
    across: ends[0],
    upward: ends[1],
    x: (value) => frame.left + ((value - left) / (right - left)) * (frame.right - frame.left),
    y: (value) => frame.bottom - ((value - bottom) / (top - bottom)) * (frame.bottom - frame.top),
  };
}

/** Some round numbers along an axis, about as many as wanted. */
function roundStops({ low, high }, wanted) {
  const rough = (high - low) / wanted;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * ten).find((one) => one >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
}

/** Rows of the same level lie on each other; they are spread a little, always the same way. */
function jittered([x, y], row, axes, { width, height }) {
  const part = (seed) => ((Math.sin(row * seed) * 43758.5453) % 1) * 0.9;
  const room = (axis, size) => (axis.levels.length ? (size / axis.levels.length) * 0.3 : 0);
  return [x + part(12.9898) * room(axes[0], width), y + part(78.233) * room(axes[1], height)];
}

/** Stretches of true in a line, as [from, to). */
function runs(line) {
  const found = [];
  line.forEach((is, i) => {
    if (is && line[i - 1] !== true) found.push([i, i]);
    if (is) found.at(-1)[1] = i + 1;
  });
  return found;
}

const cross = ([x, y]) => `M${x - 3} ${y - 3}l6 6M${x - 3} ${y + 3}l6 -6`;
const diamond = ([x, y], look) => svg("path", { class: `diamond ${look}`, d: `M${x} ${y - 8}l8 8l-8 8l-8 -8z` });
const short = (text, most) => (text.length > most ? `${text.slice(0, Math.floor(most) - 1)}…` : text);
