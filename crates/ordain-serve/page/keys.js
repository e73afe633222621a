// Keys: which does what, how people change that, and buttons that say their key.
import { attribute, el, text } from "./dom.js";
import { browser } from "./net.js";

// What can be done by a key: its name in the help, and its key unless changed.
export const actions = {
  yes: ["Yes", "y"],
  no: ["No", "n"],
  skip: ["Skip: cannot say", "s"],
  undo: ["Undo", "u"],
  redo: ["Redo", "r"],
  next: ["Next item", "Enter"],
  back: ["The item before", "ArrowLeft"],
  forward: ["The item after", "ArrowRight"],
  up: ["Up in a list", "ArrowUp"],
  down: ["Down in a list", "ArrowDown"],
  search: ["Search for a label", "/"],
  blind: ["Blind: hide guesses, on or off", "b"],
  items: ["List of items", "l"],
  help: ["Help and keys", "?"],
};

// These work always, beside the key of the action.
const fixed = { "Ctrl+z": "undo", "Ctrl+Shift+z": "redo", "Ctrl+y": "redo" };

const names = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "Space" };

let changed = browser.get("keys", {});
let single = browser.get("single", true);
const printed = new Map();

export const keyOf = (action) => changed[action] ?? actions[action][1];

export const shown = (chord) => chord.replace(/[^+]+$/, (key) => names[key] ?? key).replaceAll("+", "-");

// The key of an event with its modifiers; letters are small, and Cmd counts as Ctrl.
export function chord(event) {
  if (["Control", "Shift", "Alt", "Meta", "Dead", "Unidentified"].includes(event.key)) return null;
  const letter = /^\p{L}$/u.test(event.key);
  const key = letter ? event.key.toLowerCase() : event.key;
  const shift = event.shiftKey && (letter || event.key.length > 1);
  return [event.ctrlKey || event.metaKey ? "Ctrl+" : "", event.altKey ? "Alt+" : "", shift ? "Shift+" : "", key].join("");
}

const alone = (key) => [...key].length === 1;

// What a key press means: an action, or a digit with or without Shift.
export function meaning(event) {
  const pressed = chord(event);
  if (pressed === null) return null;
  const action = Object.keys(actions).find((name) => keyOf(name) === pressed) ?? fixed[pressed];
  if (action && (single || !alone(pressed))) return { action };
  const digit = /^(?:Digit|Numpad)([0-9])$/.exec(event.code);
  if (single && digit && !event.ctrlKey && !event.metaKey && !event.altKey) return { digit: Number(digit[1]), shift: event.shiftKey };
  return null;
}

function print(node, action) {
  const key = action in actions ? keyOf(action) : action;
  const works = single || !alone(key);
  text(node.querySelector("kbd"), works ? shown(key) : "");
  attribute(node, "aria-keyshortcuts", works ? key.replace("Ctrl", "Control") : null);
}

function reprint() {
  for (const [node, action] of printed) {
    if (node.isConnected) print(node, action);
    else printed.delete(node);
  }
}

// A button with its key on it; `action` is an action, or a key that cannot be changed.
export function keyButton(action, label, onclick, classes = "") {
  const words = el("span", {}, label);
  const node = el("button", { type: "button", class: classes, onclick }, words, " ", el("kbd", { "aria-hidden": true }));
  node.querySelector("kbd").setAttribute("aria-hidden", "true");
  print(node, action);
  printed.set(node, action);
  return node;
}

// Gives a button that is there already its key.
export function printKey(node, action, label) {
  node.replaceChildren(el("span", {}, label), " ", el("kbd", { "aria-hidden": "true" }));
  print(node, action);
  printed.set(node, action);
}

function save(keys, letters) {
  changed = keys;
  single = letters;
  browser.set("keys", keys);
  browser.set("single", letters);
  reprint();
}

// The table of keys, to be read and changed.
export function keyTable(digits) {
  const says = el("p", { class: "note", role: "alert" });
  const rows = el("tbody");
  const fill = () => {
    rows.replaceChildren(
      ...Object.entries(actions).map(([action, [what]]) => {
        const button = el("button", { type: "button", class: "key", "aria-label": `${what}: change the key` }, shown(keyOf(action)));
        button.addEventListener("click", () => listen(action, button));
        return el("tr", {}, el("th", { scope: "row" }, what), el("td", {}, button));
      }),
      ...digits.map(([keys, what]) => el("tr", {}, el("th", { scope: "row" }, what), el("td", {}, keys))),
    );
  };
  const listen = (action, button) => {
    text(button, "press a key …");
    text(says, "");
    const stop = () => {
      button.removeEventListener("keydown", take);
      button.removeEventListener("blur", stop);
      text(button, shown(keyOf(action)));
    };
    const take = (event) => {
      const pressed = chord(event);
      if (pressed === null || pressed === "Tab" || pressed === "Shift+Tab") return;
      event.preventDefault();
      event.stopPropagation();
      const other = Object.keys(actions).find((name) => name !== action && keyOf(name) === pressed);
      if (other || pressed in fixed) {
        text(says, `${shown(pressed)} is taken: ${actions[other ?? fixed[pressed]][0]}. Press another key, or Esc.`);
        return;
      }
      if (pressed !== "Escape") save({ ...changed, [action]: pressed }, single);
      text(says, "");
      stop();
    };
    button.addEventListener("keydown", take);
    button.addEventListener("blur", stop);
  };
  fill();
  const letters = el("input", { type: "checkbox", id: "single" });
  letters.checked = single;
  letters.addEventListener("change", () => save(changed, letters.checked));
  const reset = () => {
    save({}, true);
    letters.checked = true;
    fill();
  };
  return el(
    "div",
    {},
    el("table", { class: "keys" }, el("thead", { class: "hidden" }, el("tr", {}, el("th", {}, "What"), el("th", {}, "Key"))), rows),
    says,
    el("p", { class: "row" }, el("label", { class: "check" }, letters, " Keys that are one letter, digit or sign work")),
    el("button", { type: "button", onclick: reset }, "Keys as they were at first"),
  );
}
