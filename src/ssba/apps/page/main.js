/** Sets up the page: asks what the project is, makes the panels, and lets the state lead them. */

import { AnswerPanel } from "./answer.js";
import { ask, onToken } from "./api.js";
import { CohortPanel } from "./cohort.js";
import { announce, button, byId, el, labelled, replace, spinner } from "./dom.js";
import { Known } from "./known.js";
import { MapPanel } from "./map.js";
import { PersonPanel } from "./person.js";
import { Solver } from "./solve.js";
import { Store } from "./state.js";
import S from "./strings.en.js";

const ABOUT_ANSWER = ["row", "values", "set", "own", "off", "free", "most"];

/** Whether some parts differ between two states. */
const differ = (a, b, names) => names.some((name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]));

class Page {
  constructor(known) {
    this.known = known;
    this.store = new Store();
    const view = {
      stale: (isSlow) => this.answer.stale(isSlow),
      solved: (result) => this.#solved(result),
      added: (result, part) => this.#added(result, part),
      failed: (error, isPart) => this.#unsolved(error, isPart),
      tried: (trial, error) => this.answer.tried(trial, error),
    };
    this.solver = new Solver(known, this.store, view);
    this.person = new PersonPanel(byId("person"), known, this.store, () => this.#touch());
    this.answer = new AnswerPanel(byId("answer"), known, this.store, this.solver, () => this.#show(null));
    this.map = new MapPanel(byId("map"), known, this.store, (row) => this.person.choose(row));
    this.cohort = new CohortPanel(byId("cohort"), known, this.store, (row) => this.person.choose(row));
    this.#frame();
    this.store.listen((_, before) => this.#show(before));
  }

  #frame() {
    const { schema } = this.known;
    document.title = schema.title ? `${schema.title} · ssba` : "ssba";
    byId("title").textContent = schema.title || "ssba";
    byId("about").textContent = schema.sentence;
    byId("caution").textContent = schema.caution;
    for (const one of document.querySelectorAll("nav, main")) one.hidden = false;
    byId("undo").addEventListener("click", () => this.store.undo());
    byId("redo").addEventListener("click", () => this.store.redo());
    byId("share").addEventListener("click", () => share(this.store));
    document.addEventListener("keydown", (event) => this.#keys(event));
    // On a narrow screen the outcome stays in sight while the answer itself is not.
    new IntersectionObserver(([seen]) => byId("glance").classList.toggle("unneeded", seen.isIntersecting)).observe(byId("answer"));
    const tabs = ["person", "cohort"];
    tabs.forEach((tab, i) => {
      byId(`tab-${tab}`).addEventListener("click", () => this.store.update({ tab }, { silent: true }));
      byId(`tab-${tab}`).addEventListener("keydown", (event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        const other = tabs[1 - i];
        this.store.update({ tab: other }, { silent: true });
        byId(`tab-${other}`).focus();
      });
    });
  }

  #keys(event) {
    const isTyping = event.target.matches?.("input:not([type=range]):not([type=checkbox]), textarea");
    if (!(event.ctrlKey || event.metaKey) || isTyping) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) this.store.redo();
    else this.store.undo();
  }

  /** Show the state for the first time. */
  async start() {
    const { row, values } = this.store.state;
    if (row === null && values === null) this.store.update({ row: this.known.example }, { silent: true });
    else await this.#show(null);
  }

  async #show(before) {
    const { state } = this.store;
    const isNew = before === null || differ(state, before, ABOUT_ANSWER);
    this.#tabs(state);
    // Marked before anything is waited for: no answer stands unmarked beside inputs that are not its own.
    if (isNew) this.#touch();
    const row = state.row === null || this.row?.row === state.row ? this.row : await this.#load(state.row);
    // What came meanwhile shows itself, unless it is of no weight for the answer, such as the other tab.
    if (differ(this.store.state, state, ABOUT_ANSWER)) return;
    this.row = state.row === null ? null : row;
    this.person.show(this.row);
    if (isNew) {
      if (this.row !== null || state.values !== null) this.solver.solve();
    } else if (differ(state, before, ["answer"])) {
      this.answer.redraw();
      this.solver.details();
      this.#moved();
    } else if (differ(state, before, ["edit"])) {
      if (Object.keys(state.edit).length) this.solver.attempt(state.edit);
      else this.answer.trial = null;
      this.answer.redraw();
    }
    if (before !== null && differ(state, before, ["axes"])) this.map.show();
    this.cohort.show();
  }

  /** Mark all that is shown as belonging to inputs before. */
  #touch() {
    this.answer.stale(false);
    this.map.stale();
    byId("glance").textContent = S.solving;
  }

  async #load(number) {
    try {
      const found = await ask("/api/rows", { offset: number, limit: 1 });
      if (!found.rows.length) throw new Error(S.noRow(number, found.total));
      return found.rows[0];
    } catch (error) {
      this.#failed(error);
      return null;
    }
  }

  #tabs(state) {
    byId("undo").disabled = !this.store.canUndo;
    byId("redo").disabled = !this.store.canRedo;
    byId("glance").hidden = state.tab !== "person";
    for (const name of ["person", "cohort"]) {
      const isChosen = state.tab === name;
      byId(`${name}-view`).hidden = !isChosen;
      byId(`tab-${name}`).setAttribute("aria-selected", String(isChosen));
      byId(`tab-${name}`).tabIndex = isChosen ? 0 : -1;
    }
  }

  #solved(result) {
    this.answer.solved(result);
    this.person.checkFree(false);
    this.#moved();
    if (this.person.dropped) announce(`${S.dropped} ${result.sentence}`);
    this.person.dropped = false;
  }

  #moved() {
    const { result } = this.solver;
    if (!result) return;
    this.person.showAnswer(result.check, this.answer.move);
    this.map.around(result, this.answer.move);
    const { explanation } = result;
    const said = [explanation, this.answer.move].filter((one) => one?.prediction != null).map((one) => this.known.say(one.prediction));
    byId("glance").textContent = [S.statuses[explanation.status], said.join(" → ")].filter(Boolean).join(": ");
  }

  #added(result, part) {
    this.answer.added(result, part);
    if (part === "alternatives") this.#moved();
  }

  /** Tell why there is no answer; what was known of somebody else is not shown beside it. */
  #unsolved(error, isPart) {
    const about = this.solver.result?.request;
    if (!isPart && (!about || (about.row ?? null) !== this.store.state.row)) this.person.forget();
    if (!this.solver.result) this.answer.clear();
    this.#failed(error, isPart);
  }

  #failed(error, isPart) {
    this.answer.failed(error, isPart);
    if (!isPart) byId("glance").textContent = S.noAnswer;
    if (error.kind === "ConstraintError") this.person.checkFree(true);
  }
}

/** Copy the address of what is shown. */
async function share(store) {
  store.flush();
  try {
    await navigator.clipboard.writeText(location.href);
    told(S.copied, S.shared);
  } catch {
    told(S.notCopied, S.notShared);
  }
}

/** Say for a moment on the button itself what became of the link. */
function told(short, long) {
  const share = byId("share");
  announce(long);
  Object.assign(share, { textContent: short, title: long });
  setTimeout(() => { share.textContent = S.share; }, 2500);
}

/** Ask the person for the token of the server. */
function askForToken(wasWrong) {
  const dialog = byId("token");
  const field = el("input", { type: "password", autocomplete: "off", required: true });
  return new Promise((resolve) => {
    const enter = () => { if (field.value) { dialog.close(); resolve(field.value); } };
    field.addEventListener("keydown", (event) => event.key === "Enter" && enter());
    replace(dialog, el("h2", { id: "token-title", text: S.tokenTitle }), el("p", { text: wasWrong ? S.tokenWrong : S.tokenWhy }),
      labelled(S.token, field), button(S.enter, enter));
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    if (!dialog.open) dialog.showModal();
    field.focus();
  });
}

async function main() {
  for (const one of document.querySelectorAll("[data-s]")) one.textContent = S[one.dataset.s];
  for (const one of document.querySelectorAll("[data-label]")) one.setAttribute("aria-label", S[one.dataset.label]);
  replace(byId("about"), spinner(S.loading));
  onToken(askForToken);
  try {
    const [schema, population] = [await ask("/api/schema"), await ask("/api/population")];
    await new Page(new Known(schema, population)).start();
  } catch (error) {
    replace(byId("about"), el("span", { class: "wrong", text: `${S.failed} ${error.message}` }));
    throw error;
  }
}

main();
