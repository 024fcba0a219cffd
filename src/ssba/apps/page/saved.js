/** Sets of rules that a person saved in this browser. */

import { button, el, replace } from "./dom.js";
import S from "./strings.en.js";

const KEPT = "ssba-sets";
const PARTS = ["own", "off", "free", "most"];

/** A menu of saved sets. */
export class SavedSets {
  constructor(store) {
    this.store = store;
    this.name = el("input", { type: "text", maxlength: 60, "aria-label": S.saveAs, placeholder: S.saveAs, autocomplete: "off" });
    this.list = el("ul", { class: "plain" });
    this.element = el("details", { class: "saved" }, el("summary", { text: S.saved }),
      this.list, el("div", { class: "fields" }, this.name, button(S.save, () => this.#save())));
    this.#show();
  }

  #save() {
    const name = this.name.value.trim();
    if (!name) return this.name.focus();
    const parts = Object.fromEntries(PARTS.map((part) => [part, this.store.state[part]]));
    this.name.value = "";
    return this.#keep({ ...sets(), [name]: parts });
  }

  #keep(all) {
    localStorage.setItem(KEPT, JSON.stringify(all));
    this.#show();
  }

  #show() {
    replace(this.list, Object.entries(sets()).map(([name, parts]) => el("li", {},
      button(name, () => this.store.update(parts)),
      button(S.removeShort, () => this.#remove(name), { class: "link small", "aria-label": S.remove(name) }))));
  }

  #remove(name) {
    const { [name]: _, ...rest } = sets();
    this.#keep(rest);
  }
}

function sets() {
  try {
    const found = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
    return Object.fromEntries(Object.entries(found).filter(([, parts]) => parts !== null && typeof parts === "object"));
  } catch {
    return {};
  }
}
