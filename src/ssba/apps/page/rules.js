/**
 * Rules about columns, and the constraints that they stand for.
 *
 * A rule of the person's own replaces the project's rules about that column alone. It is one of
 * {t: "free"}, {t: "lock"}, {t: "range", lo, hi} with numbers, "x" for the current value or null,
 * {t: "within", p} in percent, {t: "levels", v} and {t: "text", c} with constraints as they are.
 */

const WORDS = new Set(["if", "and", "or", "not", "in", "within", "changes", "does", "change", "may", "be", "filled", "x",
  "True", "False"]);

/** Write a column as constraints name it. */
export function named(column) {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(column) && !WORDS.has(column) ? column : `\`${column.replaceAll("`", "``")}\``;
}

/** Write a value as constraints have it. */
export function written(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return String(value);
  return `'${String(value).replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** Return the constraints that a rule stands for. */
export function textsOf(column, rule) {
  const name = named(column);
  const end = (value) => (value === "x" ? `x.${name}` : written(value));
  switch (rule.t) {
    case "lock": return [`${name} == x.${name}`];
    case "within": return [`${name} within ${Number(rule.p)}%`];
    case "levels": return [`${name} in {${rule.v.map(written).join(", ")}}`];
    case "text": return rule.c.map(String);
    case "range":
      if (rule.lo === "x" && rule.hi === "x") return [`${name} == x.${name}`];
      if (rule.lo !== null && rule.hi !== null) return [`${end(rule.lo)} <= ${name} <= ${end(rule.hi)}`];
      if (rule.lo !== null) return [`${name} >= ${end(rule.lo)}`];
      return rule.hi === null ? [] : [`${name} <= ${end(rule.hi)}`];
    default: return [];
  }
}

/** Return the lines of free text that hold a constraint. */
export const freeLines = (free) => free.split("\n").map((one) => one.trim()).filter((one) => one && !one.startsWith("#"));

/** Whether a rule of the project is replaced by one of the person's own. */
export function isReplaced(state, rule) {
  return rule.columns.length === 1 && rule.columns[0] in state.own;
}

/**
 * Return all constraints in force, each with where it comes from.
 * @param {Object} state
 * @param {{text: string, columns: string[]}[]} projectRules
 * @returns {{text: string, project?: number, own?: string, free?: string}[]}
 */
export function inForce(state, projectRules) {
  const project = projectRules
    .map((rule, i) => ({ text: rule.text, project: i, columns: rule.columns }))
    .filter((rule) => !state.off.includes(rule.project) && !isReplaced(state, rule));
  const own = Object.entries(state.own).flatMap(([column, rule]) =>
    textsOf(column, rule).map((text) => ({ text, own: column })));
  const free = freeLines(state.free).map((text) => ({ text, free: text }));
  return [...project, ...own, ...free];
}

/** Rules that mean the same for everybody, such as a lock; a range in numbers was meant for one person. */
export function forEverybody(own) {
  const relative = (rule) => rule.t !== "levels" && rule.t !== "text"
    && !(rule.t === "range" && [rule.lo, rule.hi].some((end) => typeof end === "number"));
  return Object.fromEntries(Object.entries(own).filter(([, rule]) => relative(rule)));
}

/**
 * Return the change of the state that a relaxation asks for.
 * @param {Object} state
 * @param {{constraints: string[], relaxed: (string|null)[]}} relaxation
 * @param {{sent: Object[], asked: string[]}} solved what was in force, and how the service writes it
 * @param {{text: string, columns: string[]}[]} projectRules
 */
export function relaxed(state, relaxation, solved, projectRules) {
  return relaxation.constraints.reduce((changed, text, i) => {
    const place = solved.asked.indexOf(text);
    const source = place < 0 ? null : solved.sent[place];
    return { ...changed, ...withOther(changed, text, relaxation.relaxed[i], source, solved, projectRules) };
  }, { own: state.own, off: state.off, free: state.free, most: state.most });
}

function withOther(state, text, instead, source, solved, projectRules) {
  const option = /^max_changes=(\d+)$/.exec(text);
  if (option) return { most: instead === null ? null : Number(/\d+/.exec(instead)[0]) };
  if (source?.free !== undefined) return { free: swapped(state.free.split("\n"), source.free, instead).join("\n") };
  const column = source?.own ?? single(projectRules[source?.project]);
  if (column !== undefined) {
    const texts = solved.sent.filter((one) => one.own === column || single(projectRules[one.project]) === column);
    const kept = state.own[column]?.t === "text" ? state.own[column].c : texts.map((one) => one.text);
    const left = swapped(kept, source.text, instead);
    return { own: { ...state.own, [column]: left.length ? { t: "text", c: left } : { t: "free" } } };
  }
  const off = source?.project === undefined ? state.off : [...state.off, source.project];
  return { off, free: [state.free, instead].filter(Boolean).join("\n") };
}

const single = (rule) => (rule?.columns.length === 1 ? rule.columns[0] : undefined);

function swapped(texts, before, after) {
  return texts.map((one) => (one.trim() === before ? after : one)).filter((one) => one !== null);
}
