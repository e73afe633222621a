// An item as people see it: a text, a picture, or a table of its fields.
import { attribute, el, percent, value } from "./dom.js";
import { file, Refused } from "./net.js";

// A picture, fetched with the token of this page.
function picture(show) {
  const image = el("img", { alt: show.alt ?? "" });
  const frame = el("div", { class: "picture" }, image);
  file(show.image).then(
    (address) => {
      image.addEventListener("load", () => {
        URL.revokeObjectURL(address);
        frame.classList.add("ready");
      });
      image.src = address;
    },
    (error) => {
      const why = error instanceof Refused ? error.message : "no connection";
      frame.replaceChildren(el("p", { class: "empty" }, `${show.alt ?? "The picture"} cannot be shown: ${why}`));
    },
  );
  return frame;
}

// Where a value stands among the usual ones.
function standing(field) {
  const [low, high] = field.typical ?? [];
  if (typeof field.value !== "number" || low === undefined) return "";
  if (field.value < low) return "low";
  return field.value > high ? "high" : "usual";
}

function fields(list) {
  const judged = list.some((field) => field.typical);
  const row = (field) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, field.name),
      el("td", { class: typeof field.value === "number" ? null : "words" }, value(field.value)),
      judged ? el("td", { class: `standing ${standing(field)}` }, standing(field)) : null,
    );
  return el(
    "table",
    { class: "fields" },
    el("thead", {}, el("tr", {}, el("th", {}, "Field"), el("th", {}, "Value"), judged ? el("th", {}, "Among others") : null)),
    el("tbody", {}, ...list.map(row)),
  );
}

// The item itself, in an element that scrolls by keys where it is long.
export function show(what, name) {
  const box = el("div", { class: "show", role: "group", "aria-label": name, tabindex: 0 });
  if (what?.image) box.append(picture(what));
  if (what?.text) box.append(el("p", { class: "text" }, what.text));
  if (what?.fields) box.append(fields(what.fields));
  if (!box.firstChild) box.append(el("p", { class: "empty" }, "There is nothing to show but its name."));
  attribute(box, "class", what?.image ? "show framed" : "show");
  return box;
}

// A line of it, for lists.
export function line(what) {
  if (what?.text) return what.text.slice(0, 200);
  if (what?.alt) return what.alt;
  return (what?.fields ?? []).slice(0, 4).map((field) => `${field.name} ${value(field.value)}`).join(", ");
}

// How sure the model is, as words for the live line.
export const sure = (p) => (p === null || p === undefined ? "" : ` ${percent(p)}.`);
