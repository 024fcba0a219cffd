/** The left panel: who it is, what the values are, and what may become of each. */

import { ask, isAbort, pause } from "./api.js";
import { button, el, labelled, replace, select } from "./dom.js";
import { FeatureLine } from "./feature.js";
import { Finder } from "./find.js";
import { forEverybody, freeLines, isReplaced, named } from "./rules.js";
import { SavedSets } from "./saved.js";
import { groupLook } from "./strip.js";
import S from "./strings.en.js";

/** Features above which a filter is of use. */
const MANY = 20;
const CHECK_WAIT = 200;

/** The panel of the person. */
export class PersonPanel {
  #checking = new AbortController();

  /** `touched` is called while something is typed that the answer does not know yet. */
  constructor(root, known, store, touched) {
    Object.assign(this, { root, known, store, touched, row: null });
    this.title = el("h2", { id: "person-title" });
    this.finder = new Finder(known, store, (row) => this.choose(row));
    this.finding = el("details", { class: "finding" },
      el("summary", { text: S.find }), this.finder.element);
    this.finding.addEventListener("toggle", () => this.finding.open && this.finder.load());
    this.lines = known.columns.map((column) => new FeatureLine(known, column, store, () => this.values));
    this.#lay();
  }

  #lay() {
    const typeIn = button(S.typeIn, () => this.#typeIn(), { class: "quiet", title: S.typeInHint });
    this.back = button(S.resetValues, () => this.store.update({ set: {} }), { class: "quiet" });
    const list = el("div", { class: "features", role: "list" }, ...this.lines.map((one) => one.element));
    replace(this.root,
      el("div", { class: "head" }, this.title, el("div", { class: "buttons" }, this.back, typeIn)),
      this.finding,
      this.#presets(),
      el("h3", { text: S.features }),
      this.#legend(),
      this.lines.length > MANY ? this.#filter() : null,
      list,
      this.#limits(),
      this.#projectRules(),
      this.#freeText());
  }

  #presets() {
    const all = (rule) => Object.fromEntries(this.known.columns.map((one) => [one.name, rule(one)]));
    const off = this.known.rules.map((_, i) => i);
    const within = () => Object.fromEntries(this.lines.filter((line) => !line.column.hasLevels && !line.isLocked)
      .map((line) => [line.column.name, { t: "within", p: 20 }]));
    const set = (change) => this.store.update(change());
    return el("div", { class: "presets", role: "group", "aria-label": S.presets },
      el("span", { class: "soft", text: S.presets }),
      button(S.presetProject, () => set(() => ({ own: {}, off: [], free: "", most: null }))),
      button(S.presetWithin, () => set(() => ({ own: { ...this.store.state.own, ...within() } }))),
      button(S.presetFree, () => set(() => ({ own: all(() => ({ t: "free" })), off }))),
      button(S.presetLocked, () => set(() => ({ own: all(() => ({ t: "lock" })) }))),
      new SavedSets(this.store).element);
  }

  #legend() {
    const { groups } = this.known;
    return el("p", { class: "legend soft small" }, `${S.legend} `,
      ...groups.map((group, i) => el("span", { class: "key" }, el("i", { class: `swatch ${groupLook(groups, i)}` }),
        this.known.groupName(group))));
  }

  #filter() {
    const none = el("p", { class: "soft", text: S.noFeature, hidden: true });
    const input = el("input", { type: "search", autocomplete: "off" });
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      for (const line of this.lines) line.element.hidden = !line.says(wanted);
      none.hidden = this.lines.some((line) => !line.element.hidden);
    });
    return el("div", {}, labelled(S.filter, input), none);
  }

  #limits() {
    const counts = [["", S.anyNumber], ...[1, 2, 3, 4, 5].map((one) => [String(one), String(one)])];
    this.most = select(counts, "", (value) => this.store.update({ most: value ? Number(value) : null }));
    return el("div", { class: "fields limits" }, labelled(S.most, this.most));
  }

  #projectRules() {
    const { rules } = this.known;
    if (!rules.length) return el("p", { class: "soft small", text: S.rulesNone });
    this.ruleBoxes = rules.map((rule, i) => {
      const box = el("input", { type: "checkbox" });
      box.addEventListener("change", () => this.#switchRule(i, box.checked));
      const note = el("span", { class: "soft small", text: S.replaced });
      return { box, note, rule, i, item: el("li", {}, el("label", { class: "check" }, box, el("code", { text: rule.text }), note)) };
    });
    return el("details", { class: "rules" }, el("summary", { text: S.rulesTitle(rules.length) }),
      el("ul", { class: "plain" }, ...this.ruleBoxes.map((one) => one.item)));
  }

  #switchRule(i, isOn) {
    const { state } = this.store;
    const rule = this.known.rules[i];
    const own = { ...state.own };
    if (isOn && isReplaced(state, rule)) delete own[rule.columns[0]];
    this.store.update({ own, off: isOn ? state.off.filter((one) => one !== i) : [...state.off, i] });
  }

  /** A constraint as an example, about a column of this project. */
  #hint() {
    const column = this.known.columns.find((one) => one.isOrdered && !one.hasLevels && !one.isDate) ?? this.known.columns[0];
    const name = named(column.name);
    return column.hasLevels ? `${name} == x.${name}` : `${name} <= 1.1 * x.${name}`;
  }

  #freeText() {
    this.free = el("textarea", {
      rows: 2, spellcheck: "false", placeholder: this.#hint(), maxlength: 20000, "aria-describedby": "free-help free-said",
    });
    this.free.addEventListener("input", () => this.#typeFree());
    this.freeSaid = el("div", { id: "free-said", class: "small", role: "status" });
    return el("div", { class: "free" }, labelled(S.free, this.free),
      el("p", { id: "free-help", class: "soft small", text: S.freeHelp }), this.freeSaid);
  }

  /** Look at free text while it is typed: what cannot be read is told by its line, and is not solved with. */
  async #typeFree() {
    this.#checking.abort();
    this.#checking = new AbortController();
    const { signal } = this.#checking;
    this.touched();
    try {
      await pause(CHECK_WAIT, signal);
      this.store.update({ free: this.free.value }, { control: "free" });
    } catch (error) {
      if (!isAbort(error)) throw error;
    }
  }

  /** Tell which lines of the free text are understood. */
  async checkFree(isWrong) {
    const lines = freeLines(this.store.state.free);
    this.free.setAttribute("aria-invalid", String(false));
    if (!lines.length) return replace(this.freeSaid);
    if (!isWrong) return replace(this.freeSaid, el("p", { class: "fine", text: S.freeFine(lines.length) }));
    const who = this.store.state.values === null ? { row: this.store.state.row } : { values: this.store.state.values };
    const { free } = this.store.state;
    const all = free.split("\n").map((one) => one.trim());
    const wrong = await Promise.all(lines.map((line) =>
      ask("/api/check-constraints", { ...who, set: this.store.state.set, constraints: [line], project_constraints: false })
        .then(() => null, (error) => el("p", { class: "wrong", text: S.freeLine(all.indexOf(line) + 1, error.message) }))));
    if (this.store.state.free !== free) return undefined;
    this.free.setAttribute("aria-invalid", String(wrong.some(Boolean)));
    return replace(this.freeSaid, wrong.filter(Boolean));
  }

  /** Turn to a row of the data. */
  choose(row) {
    const { own } = this.store.state;
    const kept = forEverybody(own);
    this.dropped = Object.keys(kept).length < Object.keys(own).length;
    this.finding.open = false;
    this.store.update({ row, values: null, set: {}, own: kept, tab: "person" });
  }

  #typeIn() {
    this.finding.open = false;
    this.store.update({ row: null, values: this.known.typical(), set: {}, own: forEverybody(this.store.state.own) });
  }

  /** The values as they are now. */
  get values() {
    const base = this.store.state.values ?? this.row?.values ?? {};
    return { ...base, ...this.store.state.set };
  }

  /** Show the state; `row` is the row of the data that it is about. */
  show(row) {
    this.row = row;
    const { state } = this.store;
    const name = row === null ? "" : this.known.rowName(row);
    replace(this.title, state.values !== null ? S.personTyped : row === null ? S.person : S.personRow(name));
    if (Object.keys(state.set).length) this.title.append(" ", el("span", { class: "tag", text: S.edited }));
    this.back.hidden = !Object.keys(state.set).length;
    this.most.value = state.most === null ? "" : String(state.most);
    if (document.activeElement !== this.free) this.free.value = state.free;
    for (const { box, note, rule, i } of this.ruleBoxes ?? []) {
      box.checked = !state.off.includes(i) && !isReplaced(state, rule);
      note.hidden = !isReplaced(state, rule);
    }
    for (const line of this.lines) line.show(row !== null || state.values !== null);
  }

  /** Forget what the constraints left of each feature. */
  forget() {
    for (const line of this.lines) line.forget();
  }

  /** Show what the constraints leave of each feature, and what the answer makes of it. */
  showAnswer(check, move) {
    const allowed = this.known.allowed(check);
    for (const line of this.lines) line.showAllowed(allowed.get(line.column.name) ?? null, move?.values[line.column.name], !!move);
  }
}
