// Dialogs: help with the keys, the list of items, the person's name, the token.
import { el, percent, plural, text } from "./dom.js";
import { keyTable } from "./keys.js";
import { file, get, person, setPerson, setToken } from "./net.js";

// Opens a dialog, which goes when it is closed; the focus returns to where it was.
function dialog(title, ...children) {
  const before = document.activeElement;
  const close = el("button", { type: "button", class: "quiet", onclick: () => node.close() }, "Close");
  const heading = el("h2", { id: "dialog-title", tabindex: -1 }, title);
  const node = el("dialog", { "aria-labelledby": "dialog-title" }, el("div", { class: "dialog-head" }, heading, close), ...children);
  node.addEventListener("close", () => {
    node.remove();
    if (before?.isConnected) before.focus({ preventScroll: true });
  });
  node.addEventListener("click", (event) => event.target === node && node.close());
  document.body.append(node);
  node.showModal();
  if (!node.querySelector("[autofocus]")) heading.focus();
  return node;
}

const formats = { jsonl: "JSON lines", csv: "CSV", labelstudio: "Label Studio", doccano: "doccano" };
const digits = {
  annotate: [["1 – 9", "Yes to the label of that number, or the other answer"], ["Shift-1 – 9", "No to the label of that number"], ["Enter, Shift-Enter", "In the search: yes, no"]],
  match: [["1 – 9", "Look at the other pair of that number"]],
  rank: [["0 – 9", "The grade of the document"]],
};

async function save(format, says) {
  try {
    const address = await file("export", { format });
    const link = el("a", { href: address, download: `answers.${{ jsonl: "jsonl", csv: "csv", doccano: "jsonl" }[format] ?? "json"}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    text(says, "Saved.");
  } catch (error) {
    text(says, `Not saved: ${error.message}`);
  }
}

export function helpDialog(session) {
  const says = el("p", { class: "note", role: "status" });
  const exports = (session.formats ?? Object.keys(formats)).map((format) =>
    el("button", { type: "button", onclick: () => save(format, says) }, formats[format] ?? format),
  );
  const ways = {
    annotate: "The label is asked about whose answer helps the whole set of labels most. One key answers, saves, and asks the next.",
    match: "The most doubtful pair is asked about first. Each answer is kept, and the rest is matched again.",
    rank: "Give each document a grade. Judged documents come first, by grade; the others follow as the model has them.",
  };
  const control = session.quality?.control;
  const checked = control?.asked ? `Of ${plural(control.asked, "control question")}, drawn at random, the model had ${control.right} right.` : "";
  dialog(
    "Help",
    el("p", {}, ways[session.task], " Every answer is on the disk before the next question, and can be undone without limit."),
    el("h3", {}, "Keys"),
    keyTable(digits[session.task]),
    el("h3", {}, "Save the answers"),
    el("p", { class: "row" }, ...exports),
    says,
    el("p", { class: "note" }, `${plural(session.progress.answers, "answer")} so far. ${checked} Model ${session.version}.`),
  );
}

export function personDialog(session, done) {
  if (session.annotator_fixed) {
    dialog("Annotator", el("p", {}, `You are ${session.annotator}: the name belongs to the token.`));
    return;
  }
  const input = el("input", { type: "text", id: "person-name", autocomplete: "nickname", maxlength: 80, autofocus: true });
  input.value = person();
  const form = el(
    "form",
    {},
    el("p", {}, "Your name stands beside each of your answers, and you undo your own answers only."),
    el("label", { for: "person-name" }, "Name"),
    el("p", { class: "row" }, input, el("button", { class: "main" }, "Save")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    setPerson(input.value.trim());
    done();
  });
  dialog("Who are you?", form);
}

export function tokenDialog(why, done) {
  if (document.querySelector("dialog[open]")) return;
  const input = el("input", { type: "password", id: "token", autocomplete: "off", autofocus: true });
  const form = el("form", {}, el("p", {}, why), el("label", { for: "token" }, "Token, as the server printed it"), el("p", { class: "row" }, input, el("button", { class: "main" }, "Go on")));
  const node = dialog("A token is needed", form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    setToken(input.value.trim());
    node.close();
    done();
  });
}

// The list of items, 50 at a time.
export function itemsDialog(session, now, open) {
  const list = el("ul", { class: "items" });
  const more = el("button", { type: "button", onclick: () => fill() }, "More");
  const says = el("p", { class: "note", role: "status" });
  const choice = el(
    "select",
    { id: "items-state", autofocus: true, onchange: () => fill(true) },
    ...[["open", "Open"], ["doubtful", "Most doubtful first"], ["done", "Done"]].map(([state, words]) => el("option", { value: state }, words)),
  );
  let last;
  async function fill(anew) {
    if (anew) last = undefined;
    const state = choice.value;
    try {
      const { items } = await get("items", { state, n: 50, after: last });
      if (state !== choice.value) return;
      if (anew) list.replaceChildren();
      const had = new Set([...list.children].map((row) => row.dataset.item));
      const rows = items.filter((row) => !had.has(row.item));
      list.append(...rows.map(row));
      last = items.at(-1)?.item;
      more.hidden = rows.length < 50;
      text(says, list.children.length ? "" : "There is none.");
    } catch (error) {
      text(says, error.message);
    }
  }
  function row(one) {
    const words = [one.answers ? plural(one.answers, "answer") : "no answer", one.state === "done" ? "done" : "", one.expected_precision === undefined ? "" : percent(one.expected_precision)];
    const go = () => {
      node.close();
      open(one.item);
    };
    return el(
      "li",
      { "data-item": one.item },
      el("button", { type: "button", onclick: go, "aria-current": one.item === now ? "true" : null }, el("span", {}, one.item), " ", el("small", {}, words.filter(Boolean).join(", "))),
    );
  }
  const node = dialog("Items", el("p", { class: "row" }, el("label", { for: "items-state" }, "Show"), choice), list, more, says);
  fill(true);
}
