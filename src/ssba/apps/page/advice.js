/** What belongs to an answer: the steps of a plan, what stands in the way, and what to relax. */

import { button, el } from "./dom.js";
import { digits, scoreText } from "./known.js";
import { relaxed } from "./rules.js";
import S from "./strings.en.js";

const MOST_BUTTONS = 5;
const MOST_BINDINGS = 6;

/** The plan as steps, with the score after each. */
export function planSteps(known, result, move) {
  if (!move || !Object.keys(move.changes).length) return null;
  const { plan } = result.parts;
  const steps = plan && plan.steps.map((step) => el("li", { class: step.reached ? "reached" : "" },
    el("span", { class: "what", text: changesOf(known, step.changes) }),
    step.score_after === null || known.schema.classes === null ? null : score(step.score_after),
    el("span", { class: "small verdict", text: `${step.reached ? "✓ " : ""}${known.say(step.prediction)}` })));
  return el("div", { class: "plan" },
    el("h3", { text: S.plan }),
    plan ? el("ol", { class: "steps" }, ...steps) : el("p", { class: "soft small", text: S.planWait }));
}

function score(value) {
  const text = S.scoreAfter(scoreText(value));
  const isShare = value >= 0 && value <= 1;
  return el("span", { class: "small score" }, text, isShare ? el("meter", { min: 0, max: 1, value, "aria-label": text }) : null);
}

function changesOf(known, changes) {
  return S.step(Object.entries(changes).map(([name, [before, after]]) => {
    const column = known.byName.get(name);
    return S.from(name, column.show(before), column.show(after, true));
  }));
}

/** What stands in the way, where there is no answer. */
export function bindings({ explanation, parts }) {
  if (explanation.status !== "bounded" && explanation.status !== "infeasible") return null;
  const found = explanation.status === "infeasible" ? explanation.clash
    : (parts.why_not?.bindings.map((one) => one.constraint) ?? explanation.obstacles.map((one) => one.constraint));
  if (!found.length) return null;
  return el("div", { class: "binds" }, el("h3", { text: S.binds }),
    el("ul", { class: "codes" }, ...found.slice(0, MOST_BINDINGS).map((one) => el("li", {}, el("code", { text: one })))));
}

/** Buttons that loosen constraints just far enough. */
export function relaxButtons(known, result, store) {
  const { status } = result.explanation;
  if (status !== "bounded" && status !== "infeasible") return null;
  const why = result.parts.why_not;
  const content = why ? buttons(known, why, result, store) : [el("p", { class: "soft small waits", text: S.relaxWait })];
  return el("div", { class: "relax" }, el("h3", { text: S.relax }), ...content);
}

/** What a relaxation gives up that may not be anybody's to give: a fact, or the range of the data. */
function givenUp({ facts, is_beyond_data: isBeyondData }) {
  if (facts.length) return S.givesUpFacts(facts);
  return isBeyondData ? S.givesUpRange : "";
}

function buttons(known, why, result, store) {
  if (!why.relaxations.length) return [el("p", { text: S.relaxNothing })];
  return why.relaxations.slice(0, MOST_BUTTONS).map((one) => {
    const words = S.both(one.words);
    const gain = one.flips ? `${known.say(one.prediction)}, ${S.relaxDistance(digits(one.distance, 3))}` : S.relaxPossible;
    const caution = givenUp(one);
    const made = button("", () => store.update(relaxed(store.state, one, result, known.rules)), {
      class: "relaxation", "aria-label": [S.relaxApply(words), caution].filter(Boolean).join(". "),
    });
    made.append(el("span", { class: "words", text: words }), caution ? el("span", { class: "caution-words small", text: caution }) : "", el("span", { class: "gain small", text: `→ ${gain}` }));
    return made;
  });
}
