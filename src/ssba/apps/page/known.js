/** What the page knows of the project: columns with their strips, groups, rules; values as people read them. */

import S from "./strings.en.js";

const DAY = 86_400_000;
const SLIDER_STEPS = 200;

/** Write a number in few digits. */
export function digits(number, most = 6) {
  if (number === null || number === undefined) return "";
  return String(Number(Number(number).toPrecision(most))).replace("-", "−");
}

/** Write a score: shares with three decimals, so that they can be compared at a glance. */
export function scoreText(score) {
  return score >= 0 && score <= 1 ? score.toFixed(3) : digits(score, 4);
}

/** One column of the model. */
export class Column {
  /** `rows` is how many rows the strip was made of. */
  constructor(said, strip, meaning, rows) {
    Object.assign(this, { name: said.name, kind: said.kind, levels: said.levels, unit: said.unit ?? "", strip });
    this.meaning = meaning && meaning !== said.name ? meaning : "";
    this.hasLevels = said.levels.length > 0;
    this.isOrdered = !this.hasLevels || said.kind === "ordinal";
    this.isDate = said.kind === "date";
    this.step = said.step ?? (said.kind === "integer" ? 1 : null);
    this.low = this.hasLevels ? 0 : said.data_low ?? strip.low;
    this.high = this.hasLevels ? said.levels.length - 1 : said.data_high ?? strip.high;
    this.hasGaps = strip.counts.flat().reduce((sum, one) => sum + one, 0) < rows;
  }

  /** That a value lies beyond all of the data, in words; nothing where it does not. */
  outside(value) {
    const place = this.hasLevels ? null : this.place(value);
    if (place === null || (place >= this.low && place <= this.high)) return "";
    return S.outside(this.show(this.value(this.low)), this.show(this.value(this.high)));
  }

  /** Where a value lies: numbers as they are, dates in days, levels by their place; null if it is missing. */
  place(value) {
    if (value === null || value === undefined || value === "") return null;
    if (this.hasLevels) {
      const found = this.levels.indexOf(value);
      return found < 0 ? null : found;
    }
    const number = this.isDate ? Date.parse(`${value}${String(value).includes("T") ? "Z" : ""}`) / DAY : Number(value);
    return Number.isFinite(number) ? number : null;
  }

  /** The value at a place. */
  value(place) {
    if (this.hasLevels) return this.levels[place];
    if (!this.isDate) return Number(Number(place).toPrecision(12));
    const text = new Date(Math.round(place * DAY)).toISOString();
    return text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : text.slice(0, 19);
  }

  /** What a person typed, as a value of the column; undefined where it is none. */
  read(text) {
    const given = text.trim();
    if (given === "") return null;
    if (this.hasLevels) return this.levels.find((one) => String(one) === given);
    if (this.isDate) return this.place(given) === null ? undefined : given;
    const number = Number(given.replace("−", "-").replace(",", "."));
    return Number.isFinite(number) ? number : undefined;
  }

  /** Why a text is no value of the column, for people; null where it is one. */
  fault(text) {
    if (text.trim() === "") return S.typeValue;
    const value = this.read(text);
    if (value === undefined) return this.isDate ? S.typeDate : S.typeNumber;
    return this.kind === "integer" && !Number.isInteger(value) ? S.typeWhole : null;
  }

  /** A value as people read it. */
  show(value, withUnit = false) {
    if (value === null || value === undefined) return S.missing;
    const text = typeof value === "number" && !this.hasLevels ? digits(value) : String(value);
    return withUnit && this.unit ? `${text} ${this.unit}` : text;
  }

  /** What a check leaves of the column; the service tells the ends of an order. */
  allowed(said) {
    if (!this.hasLevels || said.levels.length) return said;
    return { ...said, levels: this.levels.slice(this.place(said.low) ?? 0, (this.place(said.high) ?? this.levels.length) + 1) };
  }

  /** The part of its strip that a slider moves over: the data, and whatever else is to be shown. */
  span(...others) {
    const shown = others.map((one) => this.place(one)).filter((one) => one !== null);
    const low = Math.min(this.low, ...shown);
    const high = Math.max(this.high, ...shown);
    return low < high ? [low, high] : [low - 0.5, low + 0.5];
  }

  /** How far one press of a key moves a slider. */
  sliderStep([low, high]) {
    if (this.step !== null) return this.step;
    return 10 ** Math.floor(Math.log10((high - low) / SLIDER_STEPS) + 0.3);
  }
}

/** The whole project. */
export class Known {
  constructor(schema, population) {
    Object.assign(this, { schema, groups: population.groups, rules: population.rules, example: population.example });
    this.columns = schema.columns.items.map((said, i) =>
      new Column(said, population.strips[i], schema.meanings[said.name], population.rows));
    this.byName = new Map(this.columns.map((one) => [one.name, one]));
  }

  /** What a check leaves of each column that may change, by name; of an order, too, the levels one by one. */
  allowed(check) {
    return new Map(check.may_change.map((one) => [one.column, this.byName.get(one.column).allowed(one)]));
  }

  /** What people call a prediction. */
  say(prediction) {
    if (prediction === null || prediction === undefined) return "";
    if (this.schema.classes === null && typeof prediction === "number") return digits(prediction);
    return this.schema.class_names[String(prediction)] ?? String(prediction);
  }

  /** What a group is called. */
  groupName(group) {
    return group.name || (group.reached ? S.targetGroup : S.otherGroup);
  }

  /** What a row of the data is called: by its id, where there is one. */
  rowName(row) {
    const id = this.schema.id === null ? undefined : row.values?.[this.schema.id];
    return id === undefined || id === null ? S.rowName(row.row) : String(id);
  }

  /** A row with typical values. */
  typical() {
    return Object.fromEntries(this.columns.map((one) => [one.name, one.strip.typical]));
  }
}
