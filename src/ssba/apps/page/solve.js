/** Solving as things move: a short wait, the newest request wins, older ones are cancelled. */

import { ask, isAbort, pause } from "./api.js";
import { inForce } from "./rules.js";
import S from "./strings.en.js";

/** How long to wait for the next movement of a slider, in milliseconds. */
const WAIT = 40;
/** How long an answer stands before what belongs to it is asked for, so that a moving slider waits for nothing. */
const REST = 700;
/** How long it stands before alternatives are looked for, which takes the most work. */
const LONG_REST = 900;
const SPINNER = 150;

/** The request that says which row is meant, and what holds for it. */
export function query(state, known) {
  const who = state.values === null ? { row: state.row, set: state.set } : { values: state.values, set: state.set };
  const sent = inForce(state, known.rules);
  const rules = { constraints: sent.map((one) => one.text), project_constraints: false };
  const options = state.most === null ? {} : { max_changes: state.most };
  return { who, rules, options, sent };
}

/**
 * Works out answers; `view` learns of them by its methods stale(isSlow), solved(result), added(result, part),
 * failed(error) and tried(trial, error).
 */
export class Solver {
  #newest = new AbortController();
  #details = new AbortController();
  #others = new AbortController();
  #trial = new AbortController();

  constructor(known, store, view) {
    Object.assign(this, { known, store, view, result: null });
  }

  /** Work out the answer to the present state. */
  async solve() {
    for (const one of [this.#newest, this.#details, this.#others, this.#trial]) one.abort();
    this.#newest = new AbortController();
    const { signal } = this.#newest;
    this.view.stale(false);
    const slow = setTimeout(() => this.view.stale(true), SPINNER);
    signal.addEventListener("abort", () => clearTimeout(slow), { once: true });
    try {
      await pause(WAIT, signal);
      this.result = await this.#solved(signal);
      clearTimeout(slow);
      this.view.solved(this.result);
    } catch (error) {
      clearTimeout(slow);
      if (!isAbort(error)) this.view.failed(error);
      return;
    }
    if (this.store.state.answer === 0) this.#attemptAgain();
    this.#follow(signal);
  }

  async #solved(signal) {
    const { who, rules, options, sent } = query(this.store.state, this.known);
    const [checked, found] = await Promise.all([
      ask("/api/check-constraints", { ...who, ...rules }, { signal }),
      ask("/api/explain", { ...who, ...rules, options }, { signal }),
    ]);
    return {
      request: { ...who, ...rules, options }, sent, asked: found.explanation.constraints, ...found,
      check: await this.#possible(checked.check, who, signal), whole: found.explanation, parts: {},
    };
  }

  /** Where constraints contradict each other nothing is allowed; what the others allow says more to a person. */
  async #possible(check, who, signal) {
    if (!check.clash.length) return check;
    const rest = check.constraints.filter((text) => !check.clash.includes(text));
    const left = await ask("/api/check-constraints", { ...who, constraints: rest, project_constraints: false }, { signal });
    return { ...check, may_change: left.check.may_change };
  }

  /** Ask for what belongs to an answer: alternatives, then the steps and ranges of the chosen one; or what to relax. */
  async #follow(signal) {
    const { result } = this;
    const { status } = result.explanation;
    try {
      await pause(REST, signal);
      if (status === "found") {
        await this.details(this.store.state.answer < 1);
        await pause(LONG_REST, signal);
        await this.alternatives();
        if (this.store.state.answer > 0) {
          this.#attemptAgain();
          await this.details();
        }
      } else if (status === "bounded" || status === "infeasible") {
        if (result.explanation.bounded) await this.#part("plan", "/api/plan", { answer: 0 }, signal);
        await this.#part("why_not", "/api/why-not", {}, signal);
      }
    } catch (error) {
      this.#tell(error);
    }
  }

  /** Look for up to k answers; another number cancels the search for the one before. */
  async alternatives() {
    this.#others.abort();
    this.#others = new AbortController();
    const { signal } = this.#others;
    const { result } = this;
    if (result?.explanation.status !== "found" || this.store.state.k < 2) return;
    this.view.added(result, "waiting");
    const options = { ...result.request.options, k: this.store.state.k };
    const found = await ask("/api/explain", { ...result.request, options }, { signal });
    result.whole = found.explanation;
    this.view.added(result, "alternatives");
  }

  /** Look for another number of answers, as a person wishes. */
  async lookAgain() {
    try {
      await this.alternatives();
    } catch (error) {
      this.#tell(error);
    }
  }

  /** Ask for the steps and ranges of the answer that is chosen. */
  async details(isWanted = true) {
    this.#details.abort();
    this.#details = new AbortController();
    const { signal } = this.#details;
    const { answer } = this.store.state;
    if (!isWanted || !this.result?.whole.counterfactuals[answer]) return;
    delete this.result.parts.plan;
    delete this.result.parts.ranges;
    this.view.added(this.result, "details");
    try {
      await this.#part("plan", "/api/plan", { answer }, signal);
      await this.#part("ranges", "/api/ranges", { answer }, signal);
    } catch (error) {
      this.#tell(error);
    }
  }

  async #part(name, path, asked, signal) {
    const { result } = this;
    const found = await ask(path, { explanation: result.whole, ...asked }, { signal });
    result.parts[name] = { ...found[name], sentence: found.sentence };
    this.view.added(result, name);
  }

  /** Ask about the edits that the address holds, once their answer is there. */
  #attemptAgain() {
    const { edit } = this.store.state;
    if (Object.keys(edit).length) this.attempt(edit);
  }

  /** Ask the model about the answer with other values, at once. */
  async attempt(edit) {
    this.#trial.abort();
    this.#trial = new AbortController();
    const fault = this.#faultOf(edit);
    if (fault) {
      this.view.tried(null, new Error(fault));
      return;
    }
    const { signal } = this.#trial;
    const { whole } = this.result;
    const move = whole.counterfactuals[this.store.state.answer] ?? whole.bounded;
    const proposed = Object.fromEntries(Object.entries(move?.changes ?? {}).map(([name, [, after]]) => [name, after]));
    const slow = setTimeout(() => this.view.tried(null, null), SPINNER);
    try {
      const found = await ask("/api/try", { explanation: whole, try_values: { ...proposed, ...edit } }, { signal });
      this.view.tried({ ...found.trial, sentence: found.sentence }, null);
    } catch (error) {
      if (!isAbort(error)) this.view.tried(null, error);
    } finally {
      clearTimeout(slow);
    }
  }

  /** Say what is no value among edits; null where all are. */
  #faultOf(edit) {
    const faults = Object.entries(edit).map(([name, value]) => {
      const fault = this.known.byName.get(name)?.fault(String(value ?? ""));
      return fault ? S.typeInto(name, fault) : null;
    });
    return faults.find(Boolean) ?? null;
  }

  #tell(error) {
    if (!isAbort(error)) this.view.failed(error, true);
  }
}
