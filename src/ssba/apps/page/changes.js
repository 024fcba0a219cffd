/** The table of changes: current and proposed values side by side, with an arrow on the strip. */

import { el, table } from "./dom.js";
import { digits } from "./known.js";
import { strip } from "./strip.js";
import S from "./strings.en.js";

/** How long to wait for the next digit, in milliseconds. */
const TYPING = 200;

/**
 * Make the table.
 * @param {Object} known
 * @param {{query: Object, move: Object, isFound: boolean, showsAll: boolean, edit: Object, allowed: Map<string, Object>,
 *   ranges: Object|undefined, change: function(string, any): void}} given
 */
export function changeTable(known, given) {
  const { query, move, edit, showsAll } = given;
  const moved = (one) => one.name in move.changes || one.name in edit;
  const shown = known.columns.filter((one) => showsAll || moved(one));
  shown.sort((a, b) => Number(moved(b)) - Number(moved(a)));
  const hasRanges = Boolean(given.ranges) && !Object.keys(edit).length;
  const heads = [S.feature, S.now, S.proposed, S.where, ...(hasRanges ? [S.holds] : [])];
  const rows = shown.map((column) => line(known, column, query[column.name],
    column.name in edit ? edit[column.name] : move.values[column.name], given, hasRanges));
  const made = table(S.changesCaption, heads, rows, { class: "changes" });
  shown.forEach((column, i) => made.tBodies[0].rows[i].classList.toggle("is-changed", moved(column)));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": S.changesCaption }, made);
}

function line(known, column, now, then, given, hasRanges) {
  const allowed = given.allowed.get(column.name);
  const ends = allowed && !column.hasLevels ? { low: allowed.low, high: allowed.high } : {};
  const name = el("span", {}, el("span", { class: "label", text: column.name }),
    column.meaning ? el("span", { class: "soft small meaning", text: column.meaning }) : null);
  const cells = [
    name,
    el("span", { class: "number", text: column.show(now, true) }),
    el("span", { class: "proposed" }, field(column, then, given), difference(column, now, then)),
    strip(known, column, { now, proposed: then, isShort: !given.isFound, ...ends }),
  ];
  return hasRanges ? [...cells, interval(column, given.ranges)] : cells;
}

/** The proposed value, to be edited. */
function field(column, value, given) {
  const shared = { "aria-label": S.proposedFor(column.name), "data-key": `edit ${column.name}` };
  // What is no value yet is kept as it was typed: it is told, and the model is not asked about it.
  const take = (text) => given.change(column.name, column.fault(text) ? text : column.read(text));
  if (column.hasLevels) {
    const made = el("select", shared, ...column.levels.map((one) => el("option", { value: String(one), text: String(one), selected: one === value })));
    made.addEventListener("change", () => take(made.value));
    return made;
  }
  const made = el("input", { ...shared, class: column.isDate ? "date" : null, type: "text", inputmode: column.isDate ? "text" : "decimal",
    autocomplete: "off", value: value ?? "", "aria-invalid": String(isNone(column, value)) });
  let waiting;
  made.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => take(made.value), TYPING);
  });
  return made;
}

/** Whether something typed is no value of the column. */
const isNone = (column, value) => typeof value === "string" && column.fault(value) !== null;

/** What differs, in words and signs rather than by colour alone. */
function difference(column, now, then) {
  if (isNone(column, then)) return null;
  if (now === then) return el("span", { class: "soft small", text: S.unchanged });
  const [from, to] = [column.place(now), column.place(then)];
  if (from === null || to === null || !column.isOrdered) return el("span", { class: "delta", text: S.other });
  if (column.hasLevels) return el("span", { class: "delta", text: to > from ? S.up : S.down });
  const apart = digits(Math.abs(to - from));
  const by = column.isDate ? S.days(apart) : apart;
  return el("span", { class: "delta", text: to > from ? S.raise(by) : S.lower(by) });
}

function interval(column, ranges) {
  const found = ranges.intervals.find((one) => one.column === column.name);
  if (!found) return "";
  const text = found.text.startsWith(`${column.name} `) ? found.text.slice(column.name.length + 1) : found.text;
  return el("span", { class: "small" }, el("span", { class: "narrow-label soft", text: `${S.holds} ` }), text);
}
