// The page: one session, one item at a time, and what is around it.
import { helpDialog, itemsDialog, personDialog, tokenDialog } from "./dialogs.js";
import { attribute, count, el, percent, plural, text, width } from "./dom.js";
import { keyButton, meaning, printKey } from "./keys.js";
import { labels } from "./labels.js";
import { matches } from "./matches.js";
import { browser, get, Outbox, person, Refused, tab, takeToken, Unreachable } from "./net.js";
import { ranks } from "./ranks.js";

const modes = { annotate: labels, match: matches, rank: ranks };
const $ = (id) => document.getElementById(id);

let session = null;
// the item as the server last told it, what shows it, and when its question came up
let item = null;
let view = null;
let since = 0;
let blind = browser.get("blind", false);
// the items of this visit, for the way back
let visited = tab.get("visited", []);
let place = visited.length - 1;

const outbox = new Outbox({
  changed: () => refresh(),
  saved: (entry, reply) => saved(entry, reply),
  refused: (entry, error) => refused(entry, error),
});

// What a view may do.
const page = {
  button: keyButton,
  get session() {
    return session;
  },
  // Whether guesses are hidden.
  get blind() {
    return blind || session.blind;
  },
  // Whether answers wait longer than for a moment.
  get held() {
    return outbox.held !== null;
  },
  // Answers on this item that are not saved yet.
  get pending() {
    return outbox.of(item.item);
  },
  answer(subject, answer, asked) {
    outbox.add("answers", { item: item.item, ...subject, answer, seen: item.seq, asked, ms: Math.round(performance.now() - since) });
  },
  undo: () => outbox.add("undo", {}),
  redo: () => outbox.add("redo", {}),
  next: () => next(),
  open: (name, parameters) => open(name, parameters),
  say,
  get,
};

// One line for those who listen.
function say(words) {
  text($("live"), words);
}

// Something to be read above the item, until it is closed or no longer so; one of each kind.
function notice(kind, words, ...buttons) {
  const old = $(`notice-${kind}`);
  if (!words) {
    old?.remove();
    return;
  }
  if (old?.firstChild.textContent === words) return;
  const close = el("button", { type: "button", class: "quiet", onclick: () => $(`notice-${kind}`)?.remove() }, "Close");
  const node = el("div", { id: `notice-${kind}`, class: `notice ${kind}` }, el("p", {}, words), ...(buttons.length ? buttons : [close]));
  if (old) old.replaceWith(node);
  else $("notices").append(node);
}

const action = (words, onclick) => el("button", { type: "button", onclick }, words);

function problem(error) {
  if (error instanceof Unreachable) {
    notice("offline", `No connection to the server: ${error.message}.`, action("Try again", () => start()));
  } else if (error instanceof Refused && error.status === 401) {
    tokenDialog(error.message, () => start());
  } else {
    notice("problem", error.message);
  }
  say(error.message);
}

function remember(told) {
  if (session && told.version !== session.version) {
    notice("learned", `The model has learned from the answers: from now on ${told.version}.`);
    say("The model is a new one.");
  }
  session = told;
}

// Shows what the server said of an item.
function present(state) {
  if (state.session) remember(state.session);
  const other = state.item !== item?.item || !view;
  const question = (of) => JSON.stringify([of?.item, of?.question?.label, of?.question?.left, of?.question?.right, of?.question?.doc]);
  if (other || question(state) !== question(item)) since = performance.now();
  item = state;
  if (other) {
    if (visited[place] !== state.item) {
      visited = [...visited.slice(0, place + 1), state.item].slice(-500);
      place = visited.length - 1;
    }
    tab.set("visited", visited.slice(0, place + 1));
    view = modes[session.task](page);
    $("main").replaceChildren(view.node);
  }
  refresh();
  if (other) view.heading.focus({ preventScroll: true });
  if (other) window.scrollTo(0, 0);
}

// Writes everything that may have changed.
function refresh() {
  if (!session) return;
  const { progress, quality } = session;
  const many = { annotate: "items", match: "problems", rank: "queries" }[session.task];
  document.title = item && view ? `${item.item} · ${session.name} · ordain` : `${session.name} · ordain`;
  text($("name"), session.name);
  text($("progress"), `${count(progress.items_done)} of ${count(session.items)} ${many} done`);
  width($("progress-bar"), session.items ? progress.items_done / session.items : 0);
  const control = quality?.control;
  const range = control?.low === undefined || control?.low === null ? "" : ` (${percent(control.low)} to ${percent(control.high)})`;
  const checked = control?.asked ? `control ${control.right} of ${control.asked} right${range}` : "";
  const expected = quality?.expected_precision;
  text($("expected"), expected === null || expected === undefined ? "" : `expected precision ${percent(expected)}`);
  text($("control"), checked);
  $("quality").hidden = !$("quality").textContent.trim();
  text($("person").firstChild, session.annotator || "Your name");
  attribute($("person"), "aria-label", session.annotator ? `Annotator ${session.annotator}` : null);

  const waiting = outbox.entries.length;
  if (outbox.held === "offline") {
    notice("offline", `Offline: ${plural(waiting, "answer")} not yet saved. They are kept in this tab and sent again.`, action("Try now", () => outbox.drain()));
  } else if (outbox.held) {
    notice("held", `${plural(waiting, "answer")} not saved. ${outbox.held}`, action("Try again", () => outbox.drain()), action("Give them up", () => outbox.drop()));
    notice("offline", null);
  } else {
    notice("offline", null);
    notice("held", null);
  }
  notice("readonly", session.read_only ? `Nothing can be saved now: ${session.read_only}` : null);
  notice("note", session.note ?? null);
  notice("enough", session.suggest_stop ? `You may stop here: ${session.suggest_stop}` : null);
  if (view) {
    attribute($("main"), "data-sending", waiting > 0 && !outbox.held ? "" : null);
    view.update(item);
  }
}

function saved(entry, reply) {
  if (entry.path !== "answers") {
    const done = reply.undone ?? reply.redone;
    if (reply.item) present(reply.item);
    if (!done) say(entry.path === "undo" ? "There is nothing to undo." : "There is nothing to redo.");
    else say(`${entry.path === "undo" ? "Taken back" : "Done again"}: ${modes[session.task].spoken(done)}.`);
    return;
  }
  if (reply.item !== item?.item) {
    if (reply.session) remember(reply.session);
    refresh();
    return;
  }
  present(reply);
  say(`${modes[session.task].spoken(entry.body)}. ${view.next(reply)}`);
}

function refused(entry, error) {
  const state = error.problem?.item;
  if (error.status === 409 && state?.item !== undefined) {
    if (state.item === item?.item) present(state);
    notice("conflict", "This item was changed in another tab. Your last answer was not taken: look, and answer again.");
    say("Changed in another tab. Your last answer was not taken.");
  } else {
    problem(error);
  }
}

async function open(name, parameters) {
  try {
    const state = await get(`items/${encodeURIComponent(name)}`, parameters);
    notice("problem", null);
    notice("conflict", null);
    present(state);
    return true;
  } catch (error) {
    problem(error);
    return false;
  }
}

// The next open item after this one.
async function next() {
  // what waits is counted first, so that this item is known to be done
  if (outbox.entries.length && !outbox.held) await outbox.drain();
  try {
    const { items } = await get("items", { state: "open", n: 1, after: item?.item });
    if (items.length > 0) {
      if (items[0].item === item?.item) say("This is the only open item.");
      await open(items[0].item);
    } else {
      allDone();
    }
  } catch (error) {
    problem(error);
  }
}

async function allDone() {
  remember(await get("session"));
  const heading = el("h1", { tabindex: -1 }, "All done");
  view = null;
  $("main").replaceChildren(
    el(
      "section",
      { class: "card finish" },
      heading,
      el("p", {}, "There is no open item left for you. Answers can be looked at and changed, and saved in other formats."),
      el("p", { class: "row" }, action("List of items", () => act("items")), action("Save the answers", () => act("help")), keyButton("back", "Back", () => act("back"))),
    ),
  );
  refresh();
  heading.focus();
  say("All done.");
}

async function move(by) {
  const to = place + by;
  if (to < 0) return say("This is the first item of this visit.");
  if (to >= visited.length) return next();
  const old = place;
  place = to;
  if (!(await open(visited[to]))) place = old;
}

function act(name) {
  const own = {
    undo: page.undo,
    redo: page.redo,
    next,
    back: () => move(view ? -1 : 0),
    forward: () => move(1),
    help: () => helpDialog(session),
    items: () => itemsDialog(session, item?.item, open),
    blind: () => {
      if (session.blind) return say("Guesses are always hidden here.");
      blind = !blind;
      browser.set("blind", blind);
      refresh();
      say(blind ? "Guesses are hidden until you answer." : "Guesses are shown.");
    },
  }[name];
  if (own) own();
  else view?.act(name, item);
}

document.addEventListener("keydown", (event) => {
  if (!session || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  const target = event.target;
  if (target.closest("input, textarea, select, [contenteditable]")) return;
  if ((event.key === "Enter" || event.key === " ") && target.closest("button, a, summary")) return;
  if (event.key.startsWith("Arrow") && target.closest(".show") && target.closest(".show").scrollHeight > target.closest(".show").clientHeight) return;
  const meant = meaning(event);
  if (!meant) return;
  if (event.repeat && !["back", "forward", "up", "down"].includes(meant.action)) return;
  if (meant.action) {
    event.preventDefault();
    act(meant.action);
  } else if (view?.digit?.(meant.digit, meant.shift, item)) {
    event.preventDefault();
  }
});

async function start() {
  try {
    session = await get("session");
    notice("offline", null);
    notice("problem", null);
    await outbox.drain();
    const last = visited[place];
    if (view) refresh();
    else if (last === undefined || !(await open(last))) await next();
  } catch (error) {
    problem(error);
  }
}

takeToken();
printKey($("help"), "help", "Help");
printKey($("items"), "items", "Items");
$("person").append(el("span", {}, person() || "Your name"));
$("help").addEventListener("click", () => session && act("help"));
$("items").addEventListener("click", () => session && act("items"));
$("person").addEventListener("click", () => session && personDialog(session, () => location.reload()));
start();
