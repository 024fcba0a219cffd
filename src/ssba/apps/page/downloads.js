/** Taking an answer along: its JSON, a report, a certificate. */

import { ask, fetchFile } from "./api.js";
import { announce, button, download, el, replace } from "./dom.js";
import S from "./strings.en.js";

/** Buttons for downloads; `current` returns the result that is shown. */
export class Downloads {
  constructor(known, current) {
    this.said = el("span", { class: "soft small", role: "status" });
    const kinds = [
      [S.asJson, "explanation.json", async ({ whole }) => JSON.stringify(whole, null, 1)],
      [S.asReport, "report.html", ({ whole }) => fetchFile("/api/report", { explanation: whole })],
      [S.asCertificate, "certificate.json",
        async ({ whole }) => JSON.stringify((await ask("/api/certificate", { explanation: whole })).certificate)],
    ];
    this.element = el("div", { class: "downloads", role: "group", "aria-label": S.downloads },
      el("span", { class: "soft", text: S.downloads }),
      ...kinds.map(([text, name, make]) => button(text, () => this.#take(name, () => make(current())), { "data-key": name })),
      this.said);
  }

  async #take(name, make) {
    replace(this.said, S.preparing);
    try {
      download(name, await make());
      replace(this.said);
      announce(S.ready(name));
    } catch (error) {
      replace(this.said, error.message);
    }
  }
}
