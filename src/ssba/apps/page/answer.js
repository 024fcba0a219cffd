/** The right panel: what the model says, what it would take, and how sure that is. */

import { announce, button, el, replace, select, spinner } from "./dom.js";
import { changeTable } from "./changes.js";
import { Downloads } from "./downloads.js";
import { digits, scoreText } from "./known.js";
import { bindings, planSteps, relaxButtons } from "./advice.js";
import S from "./strings.en.js";

/** The panel of the answer. */
export class AnswerPanel {
  /** `retry` is called to ask again after the server did not answer. */
  constructor(root, known, store, solver, retry) {
    Object.assign(this, { root, known, store, solver, retry, result: null, trial: null, showsAll: false });
    this.title = el("h2", { id: "answer-title", text: S.answer });
    this.spinner = spinner(S.solving, { hidden: true });
    this.note = el("p", { class: "stale-note", hidden: true });
    this.problem = el("div", { class: "problem", role: "alert" });
    this.body = el("div", { class: "answer-body" }, el("p", { class: "soft", text: S.choose }));
    this.downloads = new Downloads(known, () => this.result);
    replace(root, el("div", { class: "head" }, this.title, this.spinner), this.note, this.problem, this.body);
    root.dataset.state = "empty";
  }

  /** Mark what is shown as belonging to inputs before; with a spinner once it takes long enough to notice. */
  stale(isSlow) {
    this.root.dataset.state = "solving";
    this.root.setAttribute("aria-busy", "true");
    this.spinner.hidden = !isSlow;
    this.#mark(this.result === null ? "" : S.stale);
  }

  #mark(words) {
    this.note.textContent = words;
    this.note.hidden = !words;
    this.root.classList.toggle("is-stale", Boolean(words));
  }

  #settle(state) {
    this.root.dataset.state = state;
    this.root.setAttribute("aria-busy", "false");
    this.spinner.hidden = true;
  }

  /** Leave out the invitation to choose a person, who is chosen. */
  clear() {
    replace(this.body);
  }

  /** Tell that there is no answer; what stands there stays, marked. */
  failed(error, isPart = false) {
    if (!isPart) {
      this.#settle("failed");
      this.#mark(this.result === null ? "" : error.kind === "ConstraintError" ? S.staleBroken : S.staleFailed);
    }
    if (this.waiting) this.added(this.result, "failed");
    replace(this.problem, (error.messages ?? [error.message]).map((text) => el("p", { text })),
      error.status === 0 || error.status >= 500 ? button(S.again, () => this.retry()) : null);
  }

  /** Show an answer. */
  solved(result) {
    Object.assign(this, { result, trial: null, waiting: false });
    replace(this.problem);
    this.#mark("");
    this.#draw();
    this.#settle("solved");
    announce(result.sentence);
  }

  /** Show what came later. */
  added(result, part) {
    if (result !== this.result) return;
    this.waiting = part === "waiting";
    this.#draw();
  }

  /** Show what the model says about edited values; neither a trial nor an error: it is being asked. */
  tried(trial, error) {
    Object.assign(this, { trial, trialOf: this.store.state.edit, isAsking: !trial && !error });
    this.trialNote = error ? error.message : trial ? "" : S.trialAsking;
    this.#draw();
    if (trial) announce(trial.sentence);
  }

  get #isEdited() { return Object.keys(this.store.state.edit).length > 0; }

  /** Whether what was last said about an edit is about the one that stands there now. */
  get #isTried() { return this.trialOf === this.store.state.edit; }

  /** The answer that is shown: a counterfactual, or the bounded move. */
  get move() {
    const whole = this.result?.whole;
    return whole ? whole.counterfactuals[this.store.state.answer] ?? whole.counterfactuals[0] ?? whole.bounded : null;
  }

  /** Draw everything anew, leaving the focus where it is. */
  #draw() {
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    const { explanation } = this.result;
    replace(this.body,
      this.#tiles(), this.#trial(), this.#status(), this.#tabs(),
      relaxButtons(this.known, this.result, this.store), bindings(this.result),
      this.#changes(),
      planSteps(this.known, this.result, this.move), this.#evidence(explanation), this.downloads.element);
    if (focused) restore(focused, this.body.querySelector(`[data-key="${CSS.escape(focused.dataset.key ?? "")}"]`));
  }

  redraw() {
    if (this.result) this.#draw();
  }

  #tiles() {
    const { explanation } = this.result;
    const { move } = this;
    if (explanation.prediction === null) return null;
    const there = explanation.status === "already_there";
    return el("div", { class: "tiles" },
      this.#tile(S.now, explanation, there, "now"),
      move && !there ? el("span", { class: "to", "aria-hidden": "true", text: "→" }) : null,
      move && !there ? this.#after(move, explanation.counterfactuals.length > 0) : null);
  }

  /** What comes of the change. While values are edited it is what is known of these, and nothing else. */
  #after(move, isFound) {
    if (!this.#isEdited) return this.#tile(isFound ? S.then : S.thenBounded, move, isFound, "then");
    if (this.#isTried && this.trial) return this.#tile(S.trial, this.trial, this.trial.reached, "then");
    const isRefused = this.#isTried && !this.isAsking;
    return el("div", { class: "tile then unknown" },
      el("span", { class: "soft small", text: S.trial }),
      el("span", { class: "small", text: isRefused ? S.trialUnknown : S.trialAsking }));
  }

  #tile(name, { prediction, score }, isReached, look) {
    const isShare = score !== null && score >= 0 && score <= 1 && this.known.schema.classes !== null;
    return el("div", { class: `tile ${look} ${isReached ? "reached" : ""}` },
      el("span", { class: "soft small", text: name }),
      el("strong", { text: this.known.say(prediction) }),
      score === null || this.known.schema.classes === null ? null : el("span", { class: "small", text: S.score(scoreText(score)) }),
      isShare ? el("meter", { min: 0, max: 1, value: score, "aria-label": S.score(scoreText(score)) }) : null,
      el("span", { class: "verdict small", text: `${isReached ? "✓" : "✗"} ${isReached ? S.reaches : S.reachesNot}` }));
  }

  #status() {
    const { status } = this.result.explanation;
    const look = { found: "good", already_there: "good", infeasible: "bad" }[status] ?? "warn";
    return el("div", { class: "status" },
      el("span", { class: `badge ${look}`, text: S.statuses[status] }),
      el("p", { class: "sentence", text: this.result.sentence }));
  }

  #tabs() {
    const found = this.result.whole.counterfactuals;
    if (this.result.explanation.status !== "found") return null;
    const chosen = Math.min(this.store.state.answer, found.length - 1);
    const tabs = found.map((one, i) => button(S.answerTab(i + 1, digits(one.distance, 3)), () => this.#choose(i), {
      role: "tab", "aria-selected": String(i === chosen), tabindex: i === chosen ? 0 : -1, "data-key": `tab ${i}`,
      "aria-controls": "changes",
    }));
    const list = el("div", { class: "answer-tabs", role: "tablist", "aria-label": S.alternatives }, ...tabs);
    list.addEventListener("keydown", (event) => this.#turn(event, chosen, found.length));
    const counts = [1, 3, 5].map((one) => [String(one), S.alternativesMany(one)]);
    const count = select(counts, String(this.store.state.k), (value) => this.#look(Number(value)), {
      "aria-label": S.alternatives, "data-key": "k",
    });
    const only = found.length === 1 && this.store.state.k > 1 && this.result.whole !== this.result.explanation;
    return el("div", { class: "alternatives" }, list, count,
      this.waiting ? el("span", { class: "soft small", text: S.lookingForOthers }) : null,
      only ? el("span", { class: "soft small", text: S.noOther }) : null);
  }

  #turn(event, chosen, count) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = (chosen + by + count) % count;
    this.#choose(next);
    this.body.querySelector(`[data-key="tab ${next}"]`)?.focus();
  }

  #choose(answer) {
    this.trial = null;
    this.store.update({ answer, edit: {} }, { control: "answer" });
  }

  #look(k) {
    this.store.update({ k, answer: 0, edit: {} });
    this.result.whole = this.result.explanation;
    this.redraw();
    this.solver.lookAgain();
  }

  #changes() {
    const { move, result, known, store } = this;
    if (!move || !result) return null;
    const isFound = result.explanation.counterfactuals.length > 0;
    const all = el("input", { type: "checkbox", checked: this.showsAll, "data-key": "all" });
    all.addEventListener("change", () => { this.showsAll = all.checked; this.redraw(); });
    return el("div", { id: "changes", role: "tabpanel", "aria-label": isFound ? S.changes : S.bestMove },
      el("h3", { text: isFound ? S.changes : S.bestMove }),
      changeTable(known, {
        query: result.explanation.query, move, isFound, showsAll: this.showsAll, edit: store.state.edit,
        allowed: known.allowed(result.check),
        ranges: result.parts.ranges, change: (name, value) => this.#edit(name, value),
      }),
      el("div", { class: "beside" }, el("span", { class: "soft small", text: S.tryHint }),
        el("label", { class: "check small" }, all, S.showAll)));
  }

  #edit(name, value) {
    const edit = { ...this.store.state.edit, [name]: value };
    if (this.move.values[name] === value) delete edit[name];
    this.store.update({ edit }, { control: `edit ${name}` });
  }

  #trial() {
    if (!this.#isEdited) return null;
    return el("div", { class: "trial", id: "trial" },
      el("h3", { text: S.trial }),
      el("p", { class: this.#isTried ? null : "soft", text: this.trial ? this.trial.sentence : this.trialNote }),
      button(S.trialBack, () => { this.trial = null; this.store.update({ edit: {} }); }, { class: "quiet", "data-key": "back" }));
  }

  #evidence(explanation) {
    const facts = {
      [S.facts.rows]: explanation.rows_used.toLocaleString("en"),
      [S.facts.seconds]: digits(explanation.seconds, 2),
      [S.facts.model]: explanation.model,
    };
    if (this.move) facts[S.facts.distance] = `${digits(this.move.distance, 4)} (${explanation.metric})`;
    return el("div", { class: "evidence" },
      el("h3", { text: S.evidence }),
      this.result.evidence ? el("p", { text: this.result.evidence }) : null,
      this.result.parts.ranges ? el("p", { text: this.result.parts.ranges.sentence }) : null,
      el("dl", { class: "facts small" }, ...Object.entries(facts).map(([name, value]) =>
        el("div", {}, el("dt", { text: name }), el("dd", { text: value })))));
  }
}

/** Go on in a new field where the person was in the one that it replaces, also in the middle of a number. */
function restore(before, after) {
  if (!after) return;
  after.focus();
  if (after.type !== "text") return;
  after.value = before.value;
  after.setSelectionRange(before.selectionStart, before.selectionEnd);
}
