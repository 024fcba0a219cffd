/** Elements, made without markup: whatever comes from data enters as text. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element.
 * @param {string} tag
 * @param {Object<string, any>} [attributes] `on` holds listeners, `text` the content; false and null are left out
 * @param {...(Node|string|null)} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name === "text") element.textContent = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

/** Find an element by its id. */
export const byId = (id) => document.getElementById(id);

/** Put other children into an element. */
export function replace(element, ...children) {
  element.replaceChildren(...children.flat().filter((one) => one !== null && one !== undefined && one !== false));
}

/** A button that does something. */
export function button(text, act, attributes = {}) {
  return el("button", { type: "button", text, on: { click: act }, ...attributes });
}

/** A control with its label in front. */
export function labelled(text, control) {
  return el("label", { class: "field" }, el("span", { text }), control);
}

/** Words beside something that turns. */
export function spinner(text, attributes = {}) {
  return el("span", { class: "spinner", ...attributes }, el("i", { "aria-hidden": "true" }), text);
}

/** A choice among [value, text] pairs. */
export function select(pairs, chosen, act, attributes = {}) {
  const options = pairs.map(([value, text]) => el("option", { value, text, selected: value === chosen }));
  return el("select", { on: { change: (event) => act(event.target.value) }, ...attributes }, ...options);
}

/** A table with a caption; the first cell of each row is its heading. Cells are text or nodes. */
export function table(caption, heads, rows, attributes = {}) {
  const top = el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)));
  const body = rows.map((row) =>
    el("tr", {}, ...row.map((cell, i) => (i ? el("td", {}, cell) : el("th", { scope: "row" }, cell)))));
  return el("table", attributes, el("caption", { text: caption }), el("thead", {}, top), el("tbody", {}, ...body));
}

/** Say something to those who do not see the page. */
export function announce(text) {
  byId("announce").textContent = text;
}

/** Give a file to the person. */
export function download(name, content, type = "application/json") {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
