/** Many people at once: a filtered set, its progress, what the answers say together, and each of them. */

import { ask, fetchFile, isAbort, pause } from "./api.js";
import { announce, button, download, el, labelled, replace, select, table } from "./dom.js";
import { digits } from "./known.js";
import { forEverybody, inForce } from "./rules.js";
import S from "./strings.en.js";

const LOOK = 250;
const PAGE = 100;

/** The panel of the cohort. */
export class CohortPanel {
  #following = new AbortController();
  #job = "";
  #asked = "";

  constructor(root, known, store, choose) {
    Object.assign(this, { root, known, store, choose });
    const { cohort } = store.state;
    this.search = el("input", { type: "search", placeholder: S.searchHint, autocomplete: "off", maxlength: 200 });
    this.search.value = cohort.search;
    this.search.addEventListener("change", () => this.#set({ search: this.search.value }));
    const columns = known.columns.map((one) => [one.name, one.name]);
    this.column = select([["", S.cohortAll], ...columns], cohort.column, (column) => this.#set({ column, value: "" }));
    this.value = el("span", { class: "cohort-value" });
    const grouped = known.columns.filter((one) => one.hasLevels).map((one) => [one.name, one.name]);
    this.by = select([["", S.cohortByNone], ...grouped], cohort.by, (by) => this.#set({ by }));
    const rules = [["project", S.cohortRulesProject], ["own", S.cohortRulesOwn]];
    this.rules = select(rules, cohort.rules, (value) => this.#set({ rules: value }));
    this.run = button(S.run, () => this.#run(), { class: "primary" });
    this.stop = button(S.cancel, () => this.#cancel(), { hidden: true });
    this.bar = el("progress", { max: 1, "aria-label": S.cohort, hidden: true });
    this.said = el("p", { role: "status" });
    this.old = el("p", { class: "stale-note", text: S.cohortStale, hidden: true });
    this.found = el("div", { class: "cohort-found" });
    replace(root, el("h2", { id: "cohort-title", text: S.cohort }), el("p", { class: "soft", text: S.cohortAbout }),
      el("div", { class: "fields" }, labelled(S.search, this.search), labelled(S.cohortWhere, this.column), this.value,
        labelled(S.cohortBy, this.by), labelled(S.cohortRules, this.rules), this.run, this.stop),
      this.bar, this.old, this.said, this.found);
  }

  /** Change settings; what was run before is no longer what the address asks for. */
  #set(change) {
    this.store.update({ cohort: { ...this.store.state.cohort, job: "", ...change } }, { silent: true });
  }

  /** Show the state; a job that the address names is followed. */
  show() {
    const { cohort, tab } = this.store.state;
    const column = this.known.byName.get(cohort.column);
    if (tab !== "cohort") return;
    [this.search.value, this.column.value, this.by.value, this.rules.value] = [cohort.search, cohort.column, cohort.by, cohort.rules];
    const shown = JSON.stringify([cohort.column, cohort.value]);
    if (this.value.dataset.shown !== shown && !this.value.contains(document.activeElement)) {
      this.value.dataset.shown = shown;
      replace(this.value, column ? labelled(S.cohortIs, this.#valueField(column, cohort.value)) : null);
    }
    if (cohort.job && cohort.job !== this.#job) this.#follow(cohort.job);
    const isStale = this.found.hasChildNodes() && JSON.stringify(this.#request()) !== this.#asked;
    this.root.classList.toggle("is-stale", isStale);
    this.old.hidden = !isStale;
  }

  #valueField(column, value) {
    if (column.hasLevels) {
      const chosen = value || String(column.levels[0]);
      return select(column.levels.map((one) => [String(one), String(one)]), chosen, (given) => this.#set({ value: given }));
    }
    const field = el("input", { type: "text", value, autocomplete: "off" });
    field.addEventListener("change", () => this.#set({ value: field.value }));
    return field;
  }

  #request() {
    const { cohort } = this.store.state;
    const column = this.known.byName.get(cohort.column);
    const value = column && column.read(cohort.value || (column.hasLevels ? String(column.levels[0]) : ""));
    const everybody = { ...this.store.state, own: forEverybody(this.store.state.own) };
    const rules = cohort.rules === "project" ? {}
      : { constraints: inForce(everybody, this.known.rules).map((one) => one.text), project_constraints: false };
    return {
      search: cohort.search, ...rules,
      ...(column && value !== undefined ? { where: { [column.name]: value } } : {}),
      ...(cohort.by ? { by: cohort.by } : {}),
    };
  }

  async #run() {
    replace(this.found);
    try {
      const job = await ask("/api/cohort", this.#request());
      this.#set({ job: job.id });
      await this.#follow(job.id);
    } catch (error) {
      if (!isAbort(error)) this.#tell(error.message);
    }
  }

  async #cancel() {
    await ask(`/api/cohort/${encodeURIComponent(this.#job)}`, undefined, { method: "DELETE" }).catch(() => {});
  }

  /** Look how far a job is, again and again, until it has ended. */
  async #follow(id) {
    this.#following.abort();
    this.#following = new AbortController();
    const { signal } = this.#following;
    this.#job = id;
    this.#asked = JSON.stringify(this.#request());
    this.#busy(true);
    try {
      for (;;) {
        const job = await ask(`/api/cohort/${encodeURIComponent(id)}`, undefined, { signal });
        if (this.#ended(job)) break;
        await pause(LOOK, signal);
      }
      this.#busy(false);
    } catch (error) {
      if (isAbort(error)) return;
      this.#busy(false);
      this.#tell(error.status === 404 ? S.cohortGone : error.message);
    }
  }

  #busy(isBusy) {
    this.stop.hidden = !isBusy;
    this.bar.hidden = !isBusy;
    this.run.disabled = isBusy;
    this.root.dataset.state = isBusy ? "running" : "ended";
  }

  #tell(text) {
    replace(this.said, text);
  }

  /** Show how far a job is; true where it has ended. */
  #ended(job) {
    if (job.status === "waiting") this.#tell(S.waiting);
    if (job.status === "running") {
      this.bar.max = Math.max(1, job.total);
      this.bar.value = job.done;
      this.#tell(S.progress(job.done, job.total));
    }
    if (job.status === "cancelled") this.#tell(S.cancelled);
    if (job.status === "failed") this.#tell(job.error.detail.map((one) => one.message).join(" "));
    if (job.status === "done") this.#show(job);
    return !["waiting", "running"].includes(job.status);
  }

  #show({ id, result }) {
    const { cohort, rows, ids } = result;
    this.#tell(rows.length ? result.sentence : S.cohortEmpty);
    announce(result.sentence);
    if (!rows.length) return replace(this.found);
    const files = `/api/cohort/${encodeURIComponent(id)}/files`;
    return replace(this.found,
      this.#exports(files),
      cohort.everyone.found ? this.#charts(files, cohort) : null,
      cohort.groups.length ? this.#groups(cohort) : null,
      this.#members(cohort, rows, ids));
  }

  #exports(files) {
    const take = async (name) => {
      try {
        download(name, await fetchFile(`${files}/${name}`));
      } catch (error) {
        this.#tell(error.message);
      }
    };
    return el("div", { class: "downloads", role: "group", "aria-label": S.exports },
      el("span", { class: "soft", text: S.exports }),
      ...Object.entries(S.exportNames).map(([name, text]) => button(text, () => take(name))));
  }

  /** Two pictures of the service; on a narrow screen, where they would be cut, words say what they show. */
  #charts(files, cohort) {
    return el("div", { class: "charts" },
      this.#chart(`${files}/columns.svg`, S.cohortColumns, this.#shares(cohort)),
      this.#chart(`${files}/distances.svg`, S.cohortDistances, this.#quantiles(cohort)));
  }

  #shares({ columns, members }) {
    const total = members.filter((one) => one.changes.length).length;
    return columns.filter((one) => one.changed).map(({ column, changed }) => el("li", {},
      el("span", { text: this.known.byName.get(column)?.meaning || column }),
      el("meter", { min: 0, max: total, value: changed, "aria-hidden": "true" }),
      el("span", { class: "number", text: S.partOf(changed, total, Math.round((100 * changed) / total)) })));
  }

  #quantiles({ distances }) {
    return Object.entries(S.quantiles).filter(([name]) => name in distances).map(([name, words]) =>
      el("li", {}, el("span", { text: words }), el("span", { class: "number", text: digits(distances[name], 3) })));
  }

  #chart(path, caption, words) {
    const image = el("img", { alt: caption });
    const figure = el("figure", { hidden: true }, el("figcaption", { text: caption }),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, image),
      el("ul", { class: "plain small in-words" }, ...words));
    fetchFile(path).then((file) => {
      image.src = URL.createObjectURL(file);
      figure.hidden = false;
    }, () => {});
    return figure;
  }

  #groups(cohort) {
    const by = this.store.state.cohort.by || S.group;
    const heads = [by, S.count, S.foundShare, S.medianDistance];
    const rows = cohort.groups.map((one) => [
      one.label, String(one.count), S.of(one.found, one.needed), one.distance.value === null ? "" : digits(one.distance.value, 3)]);
    return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": S.cohortGroups(by) },
      table(S.cohortGroups(by), heads, rows, { class: "groups" }));
  }

  #members(cohort, rows, ids) {
    const name = (i) => ids?.[i] ?? S.rowName(rows[i]);
    const line = (member, i) => [
      button(name(i), () => this.choose(rows[i]), { class: "link", "aria-label": S.open(name(i)) }),
      S.statuses[member.status], member.distance === null ? "" : digits(member.distance, 3), member.changes.join(", ")];
    const lines = cohort.members.map(line);
    const heads = [S.memberRow, S.memberStatus, S.memberDistance, S.memberChanges];
    const made = table(S.membersCaption, heads, lines.slice(0, PAGE), { class: "members" });
    const more = button("", () => show(), { class: "quiet" });
    let shown = PAGE;
    const label = () => {
      more.hidden = shown >= lines.length;
      more.textContent = S.membersMore(Math.min(PAGE, lines.length - shown));
    };
    const show = () => {
      made.tBodies[0].append(...table("", [], lines.slice(shown, shown + PAGE)).tBodies[0].rows);
      shown += PAGE;
      label();
    };
    label();
    return el("div", {}, el("h3", { text: S.members }),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": S.members }, made), more);
  }
}
