/** Requests to the service: JSON both ways, the token where there is one, errors as sentences. */

import S from "./strings.en.js";

const TOKEN = "ssba-token";

/** A request that was refused, with sentences for people. */
export class Refused extends Error {
  constructor(status, name, messages) {
    super(messages.join(" "));
    Object.assign(this, { status, kind: name, messages });
  }
}

let askForToken = () => Promise.reject(new Refused(401, "Unauthorized", []));

/** Say who asks the person for the token; it returns a promise of it. */
export function onToken(ask) {
  askForToken = ask;
}

/**
 * Send a request and return the reply's JSON.
 * @param {string} path
 * @param {Object} [body] sent as JSON by POST; without it the request is a GET
 * @param {{signal?: AbortSignal, method?: string}} [how]
 */
export async function ask(path, body, how = {}) {
  return (await send(path, body, how)).json();
}

/** Send a request and return what comes as a file. */
export async function fetchFile(path, body, how = {}) {
  return (await send(path, body, how)).blob();
}

async function send(path, body, { signal, method } = {}) {
  const reply = await fetch(path, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: headers(body),
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
    credentials: "omit",
  }).catch((error) => { throw isAbort(error) ? error : new Refused(0, "Unreachable", [S.unreachable]); });
  if (reply.status === 401) {
    sessionStorage.setItem(TOKEN, await askForToken(sessionStorage.getItem(TOKEN) !== null));
    return send(path, body, { signal, method });
  }
  if (reply.status === 503) {
    await pause(1000 * Math.min(5, Number(reply.headers.get("Retry-After")) || 1), signal);
    return send(path, body, { signal, method });
  }
  if (!reply.ok) throw await refusal(reply);
  return reply;
}

function headers(body) {
  const token = sessionStorage.getItem(TOKEN);
  return {
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
  };
}

async function refusal(reply) {
  const said = await reply.json().catch(() => ({ error: "Error", detail: [] }));
  const messages = said.detail.map((one) => one.message);
  return new Refused(reply.status, said.error, messages.length ? messages : [`${reply.status} ${reply.statusText}`]);
}

/** Wait, unless the signal says that nobody needs it any more. */
export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new DOMException("cancelled", "AbortError"));
    if (signal?.aborted) return stop();
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); stop(); }, { once: true });
    return undefined;
  });
}

/** Whether an error only says that the request is not wanted any more. */
export const isAbort = (error) => error.name === "AbortError";
