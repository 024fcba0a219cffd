/** What the page shows, as plain data: kept in the address, with undo and redo. */

/** Parts of the state that an answer depends on; when one of them changes, edits of the answer are over. */
const INPUTS = ["row", "values", "set", "own", "off", "free", "most"];
/** Changes of one control within this many milliseconds are undone together. */
const TOGETHER = 900;
/** How long the address may be behind, in milliseconds. */
const WRITING = 150;

/** The state before anything was chosen. */
export const EMPTY = Object.freeze({
  tab: "person",
  row: null,
  values: null,
  set: {},
  own: {},
  off: [],
  free: "",
  most: null,
  k: 3,
  answer: 0,
  edit: {},
  axes: null,
  find: { search: "", sort: "score", only: true },
  cohort: { search: "", column: "", value: "", by: "", rules: "project", job: "" },
});

/** Holds the state, tells of every change, and keeps the address in step. */
export class Store {
  #past = [];
  #future = [];
  #last = { control: null, at: 0 };
  #listeners = [];
  #writing;

  constructor() {
    this.state = fromHash(location.hash) ?? EMPTY;
    addEventListener("pagehide", () => this.flush());
    addEventListener("hashchange", () => {
      const given = fromHash(location.hash);
      if (given && toHash(given) !== toHash(this.state)) this.#become(given);
    });
  }

  /** Call something after every change, with the state before. */
  listen(act) {
    this.#listeners.push(act);
  }

  get canUndo() { return this.#past.length > 0; }
  get canRedo() { return this.#future.length > 0; }

  /**
   * Change the state.
   * @param {Object} change parts that get another value
   * @param {{control?: string, silent?: boolean}} [how] `control`: what was used, whose changes in a row are undone
   *   together; `silent`: nothing to undo, such as typing in a search box
   */
  update(change, { control = null, silent = false } = {}) {
    const next = { ...this.state, ...change };
    if (INPUTS.some((name) => name in change && !("edit" in change))) Object.assign(next, { edit: {}, answer: 0 });
    if (!silent) this.#remember(control);
    this.#become(next);
  }

  undo() { this.#travel(this.#past, this.#future); }
  redo() { this.#travel(this.#future, this.#past); }

  #remember(control) {
    const now = performance.now();
    const goesOn = control !== null && control === this.#last.control && now - this.#last.at < TOGETHER;
    if (!goesOn) this.#past.push(this.state);
    if (this.#past.length > 200) this.#past.shift();
    this.#future = [];
    this.#last = { control, at: now };
  }

  #travel(from, to) {
    if (!from.length) return;
    to.push(this.state);
    this.#last = { control: null, at: 0 };
    this.#become(from.pop());
  }

  /** Put the state into the address, soon: browsers refuse to change it as often as a slider moves. */
  #write() {
    clearTimeout(this.#writing);
    this.#writing = setTimeout(() => this.flush(), WRITING);
  }

  /** Put the state into the address now. */
  flush() {
    clearTimeout(this.#writing);
    history.replaceState(null, "", `#${toHash(this.state)}`);
  }

  #become(next) {
    const before = this.state;
    this.state = next;
    this.#write();
    for (const act of this.#listeners) act(next, before);
  }
}

/** Write a state for an address: only what differs from the empty one. */
export function toHash(state) {
  const own = Object.entries(state).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(EMPTY[name]));
  return encodeURIComponent(JSON.stringify(Object.fromEntries(own)));
}

/** Read a state from an address; null where it holds none. */
export function fromHash(hash) {
  try {
    const given = JSON.parse(decodeURIComponent(hash.replace(/^#/, "")));
    if (given === null || typeof given !== "object" || Array.isArray(given)) return null;
    const known = Object.entries(given).filter(([name, value]) => fits(EMPTY[name], value, name));
    return { ...EMPTY, ...Object.fromEntries(known) };
  } catch {
    return null;
  }
}

/** Tell whether a value may stand for a part of the state: an address can be written by anybody. */
function fits(usual, value, name) {
  if (name === "row" || name === "most") return value === null || (Number.isInteger(value) && value >= 0);
  if (name === "values") return isPlain(value);
  if (name === "axes") return Array.isArray(value) && value.length === 2 && value.every((one) => typeof one === "string");
  if (name === "off") return Array.isArray(value) && value.every(Number.isInteger);
  if (name === "find" || name === "cohort") {
    return isPlain(value) && Object.keys(usual).every((key) => typeof value[key] === typeof usual[key]);
  }
  if (name === "own") return isPlain(value) && Object.values(value).every((rule) => isPlain(rule) && typeof rule.t === "string");
  return isPlain(usual) ? isPlain(value) : typeof value === typeof usual;
}

const isPlain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
