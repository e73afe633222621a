// Requests to the server, and the answers that it has not confirmed yet.

const api = new URL("api/v1/", document.baseURI);

// The server could not be reached, or is too busy: the same request may be sent again.
export class Unreachable extends Error {}

// The server said no, with a problem document.
export class Refused extends Error {
  constructor(status, problem) {
    super([problem.title, problem.detail].filter(Boolean).join(": ") || `status ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

// Storage may be switched off in a browser: then nothing is kept over a reload.
function stored(storage) {
  return {
    get(name, fallback) {
      try {
        return JSON.parse(storage().getItem(`ordain.${name}`)) ?? fallback;
      } catch {
        return fallback;
      }
    },
    set(name, value) {
      try {
        storage().setItem(`ordain.${name}`, JSON.stringify(value));
      } catch {
        // it stays in memory
      }
    },
  };
}

export const tab = stored(() => sessionStorage);
export const browser = stored(() => localStorage);

// The token comes behind the # of the address, which is never sent, and leaves the address at once.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return;
  tab.set("token", given);
  history.replaceState(null, "", location.pathname + location.search);
}

export const setToken = (token) => tab.set("token", token);

export const setPerson = (name) => browser.set("person", name);

export const person = () => browser.get("person", "");

async function send(address, { method = "GET", body, signal, by = person() } = {}) {
  const headers = {};
  const token = tab.get("token", "");
  if (token) headers.Authorization = `Bearer ${token}`;
  if (by) headers["X-Annotator"] = encodeURIComponent(by);
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let reply;
  try {
    reply = await fetch(address, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("the server cannot be reached");
  }
  if (reply.ok) return reply;
  if ([502, 503, 504].includes(reply.status)) throw new Unreachable("the server is busy");
  throw new Refused(reply.status, await reply.json().catch(() => ({ title: reply.statusText })));
}

const query = (path, parameters) => {
  const address = new URL(path, api);
  for (const [name, value] of Object.entries(parameters ?? {})) if (value !== undefined) address.searchParams.set(name, value);
  return address;
};

export const get = async (path, parameters, options) => (await send(query(path, parameters), options)).json();

export const post = async (path, body, by) => (await send(query(path), { method: "POST", body, by })).json();

// A file of the server under an address of this page; whoever takes it gives it back by URL.revokeObjectURL.
export async function file(address, parameters) {
  return URL.createObjectURL(await (await send(address.startsWith("/") ? address : query(address, parameters))).blob());
}

// Answers that wait for the server to confirm them, in order. They are kept over a reload and sent again under the same key, which
// makes the second one harmless.
export class Outbox {
  // `on` is told what was saved, refused, or that something changed.
  constructor(on) {
    this.on = on;
    this.entries = tab.get("queue", []);
    this.busy = false;
    this.tried = 0;
    // why nothing is sent: null, "offline" or the text of a problem that does not go away by itself
    this.held = null;
    window.addEventListener("online", () => this.drain());
  }

  add(path, body) {
    this.entries.push({ path, body: { key: crypto.randomUUID?.() ?? uuid(), ...body }, by: person() });
    this.keep();
    return this.drain();
  }

  // Those on one item.
  of(item) {
    return this.entries.filter((entry) => entry.body.item === item).map((entry) => entry.body);
  }

  keep() {
    tab.set("queue", this.entries);
    this.on.changed();
  }

  // Gives up what the server will not take.
  drop() {
    this.entries = [];
    this.held = null;
    this.keep();
  }

  async drain() {
    if (this.busy) return;
    this.busy = true;
    clearTimeout(this.timer);
    while (this.entries.length > 0) {
      const entry = this.entries[0];
      try {
        const reply = await post(entry.path, entry.body, entry.by);
        this.entries.shift();
        this.held = null;
        this.tried = 0;
        // what was answered on the same item in the meantime has seen this reply
        for (const later of this.entries) if (later.body.item === entry.body.item && reply.seq) later.body.seen = reply.seq;
        this.keep();
        this.on.saved(entry, reply);
      } catch (error) {
        if (error instanceof Unreachable) {
          this.held = "offline";
          this.timer = setTimeout(() => this.drain(), Math.min(15000, 500 * 2 ** this.tried++));
          break;
        }
        if (!(error instanceof Refused)) throw error;
        if ([401, 403, 507].includes(error.status)) {
          this.held = error.message;
          this.on.refused(entry, error);
          break;
        }
        this.entries.shift();
        this.keep();
        this.on.refused(entry, error);
      }
    }
    this.busy = false;
    this.on.changed();
  }
}

// A random name; crypto.randomUUID is there on https and loopback only.
function uuid() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
