/** Finding a person: search, order, and only those the model decides against. */

import { ask, isAbort, pause } from "./api.js";
import { button, el, labelled, replace, select } from "./dom.js";
import { scoreText } from "./known.js";
import S from "./strings.en.js";

const PAGE = 25;
const WAIT = 150;
/** Values of a row that fit beside its name. */
const SHOWN = 4;

/** The finder; it calls `choose` with the number of a row. */
export class Finder {
  #newest = new AbortController();
  #shown = 0;

  constructor(known, store, choose) {
    Object.assign(this, { known, store, choose });
    const { find } = store.state;
    this.search = el("input", { type: "search", placeholder: S.searchHint, autocomplete: "off", maxlength: 200 });
    this.search.value = find.search;
    this.search.addEventListener("input", () => this.#set({ search: this.search.value }));
    const orders = [["score", S.sortRisk], ["-score", S.sortBest], ["row", S.sortRow]];
    this.sort = select(orders, find.sort, (sort) => this.#set({ sort }));
    this.only = el("input", { type: "checkbox", checked: find.only });
    this.only.addEventListener("change", () => this.#set({ only: this.only.checked }));
    this.total = el("p", { class: "soft small", role: "status" });
    this.list = el("ul", { class: "rows" });
    this.more = button(S.showMore, () => this.load(true), { class: "quiet" });
    this.element = el("div", { class: "finder" },
      el("div", { class: "fields" }, labelled(S.search, this.search), labelled(S.sort, this.sort)),
      el("label", { class: "check" }, this.only, S.only),
      this.total, this.list, this.more);
  }

  #set(change) {
    this.store.update({ find: { ...this.store.state.find, ...change } }, { silent: true });
    this.load();
  }

  /** Ask for rows; the newest request wins. */
  async load(isMore = false) {
    this.#newest.abort();
    this.#newest = new AbortController();
    const { signal } = this.#newest;
    const { search, sort, only } = this.store.state.find;
    const offset = isMore ? this.#shown : 0;
    try {
      await pause(isMore ? 0 : WAIT, signal);
      const body = { search, sort, offset, limit: PAGE, ...(only ? { reached: false } : {}) };
      this.#show(await ask("/api/rows", body, { signal }), isMore);
    } catch (error) {
      if (!isAbort(error)) replace(this.total, error.message);
    }
  }

  #show(found, isMore) {
    const items = found.rows.map((row) => el("li", {}, this.#item(row)));
    if (isMore) this.list.append(...items);
    else replace(this.list, items);
    this.#shown = found.offset + found.rows.length;
    replace(this.total, S.found(found.total));
    this.more.hidden = this.#shown >= found.total;
  }

  #item(row) {
    const { known } = this;
    const cells = known.columns.slice(0, SHOWN).map((one) => one.show(row.values[one.name]));
    const said = known.say(row.prediction) + (row.score === null || known.schema.classes === null ? "" : ` ${scoreText(row.score)}`);
    return button("", () => this.choose(row.row), { class: "row" }).appendChild(el("span", { class: "row-in" },
      el("strong", { text: known.rowName(row) }),
      el("span", { class: row.reached ? "said target" : "said", text: said }),
      el("span", { class: "soft", text: cells.join(" · ") }))).parentNode;
  }
}
