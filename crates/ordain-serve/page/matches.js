// Matches: the most doubtful pair, field by field, and the matching as it stands.
import { attribute, el, patch, percent, signed, text, value } from "./dom.js";
import { cards, history } from "./parts.js";

const words = (answer) => (answer === null ? "cannot say" : answer ? "yes" : "no");
const pairKey = (pair) => JSON.stringify([pair.left, pair.right]);
const spoken = (pair) => `${pair.left} and ${pair.right ?? "no partner"}`;

export function matches(page) {
  let state = null;
  let others = [];
  const parts = cards("Problem", "Matching");
  const { heading, question, list, side } = parts;

  const chance = el("span", { class: "chance" });
  const why = el("p", { class: "why" });
  const answers = el(
    "div",
    { class: "answers", role: "group", "aria-label": "Answer" },
    page.button("yes", "Yes", () => act("yes"), "yes"),
    page.button("no", "No", () => act("no"), "no"),
    page.button("skip", "Unsure", () => act("skip")),
  );
  const before = history(page);
  const impossible = el("p", { class: "refused" });
  question.append(el("div", { class: "asked" }, heading, chance), why, answers, impossible, before.node, parts.foot(page));

  const table = el("table", { class: "compare" });
  const rivals = el("ul", { class: "pairs" });
  const rivalsTitle = el("h3", {}, "Other partners");
  const matching = el("ul", { class: "pairs" });
  const hint = el("p", { class: "note" });
  list.append(hint, matching, rivalsTitle, rivals);

  const waiting = (pair) => page.pending.filter((body) => body.left === pair.left && body.right === pair.right).at(-1);

  function look(pair) {
    page.open(state.item, { left: pair.left, right: pair.right });
  }

  // What a row of the comparison says: the same or not, and for or against.
  function verdict(row) {
    const both = row.left !== undefined && row.right !== undefined;
    if (row.same) return "same";
    return both ? (row.left === null || row.right === null ? "missing" : "differs") : "";
  }

  function compared(pair) {
    const strongest = Math.max(1e-9, ...pair.compare.map((row) => Math.abs(row.contribution ?? 0)));
    const row = (one) => {
      const says = verdict(one);
      const weight = one.contribution;
      const known = typeof weight === "number" && !page.blind && !state.question?.control;
      const bar = el("span", { class: `weight ${weight >= 0 ? "for" : "against"}`, "aria-hidden": "true" }, el("span"));
      bar.firstChild.style.inlineSize = `${Math.round((50 * Math.abs(weight ?? 0)) / strongest)}%`;
      const name = one.feature ? `${one.feature}${one.value === undefined || one.value === null ? "" : ` ${value(one.value)}`}` : "";
      const speaks = known && weight !== 0 ? `${weight > 0 ? "for" : "against"} ${signed(weight)}` : "";
      return el(
        "tr",
        { class: says },
        el("th", { scope: "row" }, one.field ?? one.feature ?? "", says ? el("small", { class: "verdict" }, says) : null),
        ...(one.field === null || one.field === undefined
          ? [el("td", { colspan: 2, class: "plain" }, value(one.value))]
          : [el("td", {}, value(one.left) || "–"), el("td", {}, value(one.right) || "–")]),
        el("td", { class: "speaks" }, el("small", {}, one.field ? name : ""), known ? bar : null, el("small", {}, speaks)),
      );
    };
    const beside = page.blind ? null : state.question?.beside;
    table.replaceChildren(
      el(
        "thead",
        {},
        el("tr", {}, el("th", { scope: "col" }, "Field"), el("th", { scope: "col" }, pair.left.id), el("th", { scope: "col" }, pair.right.id), el("th", { scope: "col" }, "Speaks", beside ? el("small", { class: "beside" }, `beside ${beside.left} – ${beside.right}`) : null)),
      ),
      el("tbody", {}, ...pair.compare.map(row)),
    );
  }

  function chip() {
    const node = el("button", { type: "button", class: "pair" }, el("kbd", { "aria-hidden": "true" }), el("span", { class: "name" }), " ", el("small", { class: "state" }));
    return el("li", {}, node);
  }

  function write(node, pair, index, digits) {
    const button = node.firstChild;
    const [key, name, said] = button.children;
    const sent = waiting(pair);
    text(key, digits && index < 9 ? String(index + 1) : "");
    text(name, pair.right === null ? `${pair.left} – no partner` : `${pair.left} – ${pair.right}`);
    const guess = page.blind ? "" : percent(pair.probability);
    const settled = sent && page.held ? `${words(sent.answer)}, not yet saved` : pair.state === "yes" ? "yes" : pair.state === "no" ? "no" : guess;
    text(said, [settled, pair.changed ? "changed" : ""].filter(Boolean).join(", "));
    attribute(node, "class", [pair.state ?? "", pair.changed ? "changed" : ""].join(" ").trim() || null);
    attribute(button, "disabled", pair.right === null);
    const asked = state.question;
    attribute(button, "aria-current", asked && asked.left === pair.left && asked.right === pair.right ? "true" : null);
    button.onclick = () => look(pair);
  }

  let shownPair = null;
  function update(next) {
    const other = state?.item !== next.item;
    state = next;
    const asked = state.question;
    const pair = state.pair;
    if (other) parts.title(`Problem ${state.item}`, table);
    const now = JSON.stringify([asked, pair, page.blind]);
    if (pair && (other || now !== shownPair)) compared(pair);
    shownPair = now;
    table.hidden = !pair;
    parts.status(state);
    const sent = asked && waiting(asked);
    const kept = sent && page.held;
    const both = asked ? `${asked.left} and ${asked.right}` : "";
    text(heading, asked ? (kept ? `Kept: ${both}: ${words(sent.answer)}` : `Do ${both} belong together?`) : "No open question");
    const shown = asked && !page.blind && !asked.control ? percent(asked.probability) : "";
    text(chance, shown);
    text(why, kept ? "The next question comes when the server is back." : asked?.control ? "Drawn at random, to check the model." : (asked?.why ?? state.stop ?? ""));
    answers.hidden = !asked;
    text(impossible, state.impossible ?? "");
    before.update(state, (answer) => `${answer.left} – ${answer.right}: ${words(answer.answer)}`);
    parts.stop(asked ? state.stop : null);

    const rows = [...state.matching, ...(state.refused ?? []).map((one) => ({ ...one, state: "no" }))];
    patch(matching, page.blind ? rows.filter((row) => row.state === "yes" || row.state === "no") : rows.slice(0, 200), pairKey, chip, (node, row, index) => write(node, row, index, false));
    text(hint, page.blind ? "Guesses are hidden until you answer." : rows.length > 200 ? "The first 200 pairs." : "");
    others = page.blind ? [] : (state.others ?? []).slice(0, 9);
    rivalsTitle.hidden = others.length === 0;
    patch(rivals, others, pairKey, chip, (node, row, index) => write(node, row, index, true));
  }

  function act(action) {
    const asked = state?.question;
    if (!asked || !["yes", "no", "skip"].includes(action)) return undefined;
    const answer = { yes: true, no: false, skip: null }[action];
    const sent = waiting(asked);
    if (sent && sent.answer === answer) return undefined;
    return page.answer({ left: asked.left, right: asked.right }, answer, true);
  }

  function digit(n) {
    if (!others[n - 1]) return false;
    look(others[n - 1]);
    return true;
  }

  const nextWords = (told) => {
    const changed = told.matching.filter((pair) => pair.changed).length;
    const rest = changed ? `${changed} ${changed === 1 ? "pair" : "pairs"} changed. ` : "";
    return told.question ? `${page.blind ? "" : rest}Next: ${spoken(told.question)}?` : `${page.blind ? "" : rest}No open question.`;
  };

  side.append(question, list);
  return { node: parts.node, heading, update, act, digit, next: nextWords };
}

matches.spoken = (answer) => `${spoken(answer)}: ${words(answer.answer)}`;
