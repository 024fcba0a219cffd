/** One line of the person panel: a feature, its value, its strip, and what may become of it. */

import { button, el, replace, svg } from "./dom.js";
import { named } from "./rules.js";
import { Strip, stripSpan } from "./strip.js";
import S from "./strings.en.js";

/** The line of one feature. */
export class FeatureLine {
  #drawn = "";
  #isTouched = false;

  constructor(known, column, store, values) {
    // What the constraints leave: null where nothing may change, undefined as long as nobody has said.
    Object.assign(this, { known, column, store, values, allowed: undefined, proposed: undefined, isLocked: false });
    this.strip = new Strip(known, column);
    this.hint = el("span", { class: "hint small", role: "status" });
    this.input = this.#input();
    this.lock = button("", () => this.#set(this.isLocked ? this.#unlocked() : { t: "lock" }),
      { class: "lock", "aria-pressed": "false", "aria-label": S.lock(column.name) });
    this.lock.append(padlock());
    this.picture = el("div", { class: "picture" });
    this.words = el("span", { class: "allowed-words soft small" });
    this.reset = button(S.resetRuleShort, () => this.#set(null),
      { class: "link small", "aria-label": S.resetRule(column.name), hidden: true });
    this.control = column.hasLevels ? this.#levels() : this.#sliders();
    this.element = el("div", { class: "feature", role: "listitem" },
      el("div", { class: "name" }, el("span", { class: "label", text: column.name, title: column.meaning || null }),
        column.meaning ? el("span", { class: "soft small meaning", text: column.meaning }) : null),
      el("div", { class: "value" }, this.input, column.unit ? el("span", { class: "soft unit", text: column.unit, title: column.unit }) : null,
        this.hint),
      el("div", { class: "track" }, this.picture, this.control),
      el("div", { class: "rule" }, this.lock, column.isOrdered ? this.#direction() : null,
        el("span", { class: "beneath" }, this.words, this.reset)));
  }

  /** Whether the name or meaning has some words. */
  says(words) {
    return `${this.column.name} ${this.column.meaning}`.toLowerCase().includes(words);
  }

  /** A rule that lets the feature change; a missing value has to be let in. */
  #unlocked() {
    const { name } = this.column;
    return this.column.place(this.values()[name]) === null
      ? { t: "text", c: [`${named(name)} may be filled`] } : { t: "free" };
  }

  #input() {
    const { column } = this;
    const label = { "aria-label": S.value(column.name) };
    if (column.hasLevels) {
      const gap = column.hasGaps ? [["", S.missing]] : [];
      const options = [...gap, ...column.levels.map((one) => [String(one), String(one)])];
      const made = el("select", label, ...options.map(([value, text]) => el("option", { value, text })));
      made.addEventListener("change", () => this.#take(made.value));
      return made;
    }
    const made = el("input", { ...label, class: column.isDate ? "date" : null, type: "text", inputmode: column.isDate ? "text" : "decimal",
      autocomplete: "off", placeholder: column.hasGaps ? S.missing : null });
    made.addEventListener("change", () => this.#take(made.value));
    return made;
  }

  /** Take a value that was typed or chosen; what is none is told, and the value before holds until there is one. */
  #take(text) {
    const { column } = this;
    const isGap = text.trim() === "" && column.hasGaps;
    const fault = isGap ? null : column.fault(text);
    this.#advise(fault);
    if (!fault) this.store.update(this.#withValue(column.read(text)));
  }

  /** Say beside the value what is wrong with what was typed, or that no row of the data has such a value. */
  #advise(fault) {
    const { column } = this;
    const now = this.values()[column.name];
    const known = column.place(now) === null ? "" : S.untilThen(column.show(now));
    this.input.setAttribute("aria-invalid", String(Boolean(fault)));
    const isAbsent = now === null && !column.hasGaps;
    this.hint.textContent = fault ? [fault, known].filter(Boolean).join("; ") : isAbsent ? S.typeValue : column.outside(now);
  }

  #withValue(value) {
    const { state } = this.store;
    const { name } = this.column;
    return state.values === null ? { set: { ...state.set, [name]: value } } : { values: { ...state.values, [name]: value } };
  }

  #sliders() {
    const made = (text, end) => {
      const slider = el("input", { type: "range", class: end, "aria-label": text(this.column.name) });
      slider.addEventListener("input", () => this.#slide(end, Number(slider.value)));
      return slider;
    };
    this.low = made(S.lowest, "lo");
    this.high = made(S.highest, "hi");
    return el("div", { class: "sliders" }, this.low, this.high);
  }

  #slide(end, place) {
    const other = end === "lo" ? Number(this.high.value) : Number(this.low.value);
    const value = this.column.value(end === "lo" ? Math.min(place, other) : Math.max(place, other));
    const rule = this.#range();
    this.#set({ ...rule, [end]: value }, `${this.column.name} ${end}`);
  }

  /** The range in force, as a rule that can be changed at one end. */
  #range() {
    const own = this.store.state.own[this.column.name];
    if (own?.t === "range") return own;
    const now = this.values()[this.column.name];
    if (this.allowed === undefined) return { t: "range", lo: null, hi: null };
    if (this.allowed === null) return { t: "range", lo: now ?? null, hi: now ?? null };
    return { t: "range", lo: this.allowed.low, hi: this.allowed.high };
  }

  #direction() {
    const choices = [["", S.either], ["up", S.up], ["down", S.down]];
    this.way = el("select", { class: "way", "aria-label": S.direction(this.column.name) },
      ...choices.map(([value, text]) => el("option", { value, text })));
    this.way.addEventListener("change", () => this.#go(this.way.value));
    return this.way;
  }

  #go(way) {
    const now = this.column.place(this.values()[this.column.name]);
    const own = this.store.state.own[this.column.name];
    const beyond = (end, isHigh) => {
      const place = typeof end === "number" || typeof end === "string" && end !== "x" ? this.column.place(end) : null;
      return place !== null && now !== null && (isHigh ? place > now : place < now) ? end : null;
    };
    const lo = own?.t === "range" ? beyond(own.lo, false) : null;
    const hi = own?.t === "range" ? beyond(own.hi, true) : null;
    if (!way) this.#set({ t: "free" });
    else this.#set(way === "up" ? { t: "range", lo: "x", hi } : { t: "range", lo, hi: "x" });
  }

  #levels() {
    this.boxes = this.column.levels.map((level) => {
      const box = el("input", { type: "checkbox" });
      box.addEventListener("change", () => this.#setLevels());
      return { level, box, item: el("label", { class: "level" }, box, el("span", { text: String(level) })) };
    });
    return el("fieldset", { class: "levels" }, el("legend", { class: "unseen", text: S.levels(this.column.name) }),
      ...this.boxes.map((one) => one.item));
  }

  #setLevels() {
    const chosen = this.boxes.filter((one) => one.box.checked).map((one) => one.level);
    const now = this.values()[this.column.name];
    if (!chosen.length) this.#set({ t: "lock" });
    else if (chosen.length === this.column.levels.length) this.#set({ t: "free" });
    else this.#set(chosen.length === 1 && chosen[0] === now ? { t: "lock" } : { t: "levels", v: chosen });
  }

  /** Replace the rule; null goes back to the project's. */
  #set(rule, control = null) {
    // A control that was moved shows what it was moved to, whatever was drawn before.
    this.#isTouched = true;
    const own = { ...this.store.state.own };
    if (rule === null) delete own[this.column.name];
    else own[this.column.name] = rule;
    this.store.update({ own }, { control });
  }

  /** Show the value and the rule of the state. */
  show(isSomebody) {
    const { column } = this;
    const now = this.values()[column.name];
    if (this.element.inert === isSomebody) this.element.inert = !isSomebody;
    if (document.activeElement !== this.input) this.input.value = now === null || now === undefined ? "" : String(now);
    if (this.input.value === String(now ?? "")) this.#advise(null);
    // A level that is longer than its field can be read by pointing at it.
    if (column.hasLevels) this.input.title = this.input.value;
    this.input.classList.toggle("touched", column.name in this.store.state.set);
    this.reset.hidden = !(column.name in this.store.state.own);
    const own = this.store.state.own[column.name];
    if (own) this.allowed = expected(column, own, now, this.allowed);
    this.#draw(isSomebody);
  }

  /** Show what the constraints leave of the feature, and what an answer proposes. */
  showAllowed(allowed, proposed, isMoved) {
    this.allowed = allowed;
    this.proposed = isMoved ? proposed : undefined;
    this.#draw(true);
  }

  /** Forget what the constraints left of the feature: they cannot be worked out for what is there now. */
  forget() {
    this.allowed = undefined;
    this.proposed = undefined;
    this.show(true);
  }

  /** Draw the line, unless nothing about it has changed: there may be many lines, and one moves at a time. */
  #draw(isSomebody) {
    const { column, allowed } = this;
    const now = this.values()[column.name];
    const drawn = JSON.stringify([now, allowed === undefined ? "unknown" : allowed, this.proposed, isSomebody]);
    if (drawn === this.#drawn && !this.#isTouched) return;
    this.#drawn = drawn;
    this.#isTouched = false;
    this.isLocked = isSomebody && allowed === null;
    this.lock.setAttribute("aria-pressed", String(this.isLocked));
    this.element.classList.toggle("is-locked", this.isLocked);
    const [low, high] = allowed && !column.hasLevels
      ? [allowed.low ?? column.value(column.low), allowed.high ?? column.value(column.high)] : [];
    const ends = low === undefined ? {} : { low, high };
    const span = stripSpan(column, now, this.proposed, low, high);
    replace(this.picture, this.strip.draw({ now, proposed: this.proposed, ...ends }, span));
    if (column.hasLevels) this.#drawLevels(now, isSomebody);
    else this.#drawSliders(allowed === undefined ? span.map((one) => column.value(one)) : low === undefined ? [now, now] : [low, high], span);
    if (this.way) this.way.value = this.isLocked ? "" : wayOf(column, now, allowed);
    this.words.textContent = isSomebody ? this.#allowedWords(low, high) : "";
  }

  #allowedWords(low, high) {
    const { column, allowed } = this;
    if (allowed === undefined) return S.unknown;
    if (allowed === null) return S.locked;
    return column.hasLevels ? S.unlocked : S.range(unbroken(column.show(low)), unbroken(column.show(high)));
  }

  #drawSliders(ends, span) {
    const { column } = this;
    [this.low, this.high].forEach((slider, i) => {
      const value = column.place(ends[i]) ?? span[i];
      const step = column.sliderStep(span);
      // Steps are counted from the lowest place, which shall be a multiple of them.
      Object.assign(slider, { step, min: Math.floor(span[0] / step) * step, max: Math.ceil(span[1] / step) * step });
      slider.value = value;
      slider.setAttribute("aria-valuetext", column.show(column.value(value), true));
    });
  }

  #drawLevels(now, isSomebody) {
    const { allowed } = this;
    for (const { level, box, item } of this.boxes) {
      box.checked = isSomebody && (allowed ? allowed.levels.includes(level) : level === now);
      item.classList.toggle("is-now", level === now);
    }
  }
}

/** A date that no line ends in the middle of. */
const unbroken = (text) => text.replaceAll("-", "\u2011");

/** What a rule will leave of a feature, until the service tells: controls stay where they were put. */
function expected(column, rule, now, before) {
  const whole = { low: null, high: null, levels: column.levels };
  const end = (value, usual) => (value === "x" ? now : value ?? usual);
  switch (rule.t) {
    case "lock": return null;
    case "free": return whole;
    case "levels": return { ...whole, levels: rule.v };
    case "range": {
      const usual = before ?? whole;
      return column.hasLevels ? usual : { ...usual, low: end(rule.lo, usual.low), high: end(rule.hi, usual.high) };
    }
    default: return before;
  }
}

/** Which way a feature may go, as its range shows it. */
function wayOf(column, now, allowed) {
  const here = column.place(now);
  if (here === null || !allowed) return "";
  const places = column.hasLevels ? allowed.levels.map((one) => column.place(one))
    : [column.place(allowed.low) ?? -Infinity, column.place(allowed.high) ?? Infinity];
  const [low, high] = [Math.min(...places), Math.max(...places)];
  if (low >= here && high > here) return "up";
  return high <= here && low < here ? "down" : "";
}

function padlock() {
  return svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" },
    svg("path", { class: "shackle", d: "M5 7V5a3 3 0 0 1 6 0v2" }),
    svg("rect", { x: 3, y: 7, width: 10, height: 7, rx: 1.5 }));
}
