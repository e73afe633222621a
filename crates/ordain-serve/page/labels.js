// Labels: one question at a time, the set as it stands, and a search over all labels.
import { attribute, count, el, patch, percent, text, width } from "./dom.js";
import { cards, history, ticks } from "./parts.js";
import { show, sure } from "./show.js";

const words = (answer) => (answer === null ? "skipped" : answer ? "yes" : "no");
const signs = { yes: "✓", guessed: "●", likely: "○", no: "✕" };
const says = { yes: "yes", guessed: "guessed", likely: "not in the set", no: "no" };
const order = { yes: 0, guessed: 0, likely: 1, no: 2 };

export function labels(page) {
  let state = null;
  let rows = [];
  const parts = cards("What is it?", "Labels");
  const { heading, question, list, side } = parts;

  const ask = el("span", { class: "ask" });
  const name = el("strong");
  const chance = el("span", { class: "chance" });
  heading.append(ask, " ", name);
  const why = el("p", { class: "why" });
  const links = el("p", { class: "links" });
  const answers = el(
    "div",
    { class: "answers", role: "group", "aria-label": "Answer" },
    page.button("yes", "Yes", () => act("yes"), "yes"),
    page.button("no", "No", () => act("no"), "no"),
    page.button("skip", "Skip", () => act("skip")),
  );
  const before = history(page);
  question.append(el("div", { class: "asked" }, heading, chance), why, links, answers, before.node, parts.foot(page));

  const set = el("ul", { class: "set" });
  const hint = el("p", { class: "note" });
  const search = finder(page, (label, answer) => say(label, answer));
  list.append(hint, set, search.node);

  function say(label, answer, asked = false) {
    page.answer({ label }, answer, asked);
  }

  // The answer on a label that is on its way.
  const waiting = (label) => page.pending.filter((body) => body.label === label).at(-1);

  function hidden(row) {
    const control = state.question?.control && row.label === state.question.label;
    return (page.blind || control) && (row.state === "guessed" || row.state === "likely");
  }

  function one(row) {
    const node = el(
      "li",
      {},
      el("kbd", { "aria-hidden": "true" }),
      el("span", { class: "sign", "aria-hidden": "true" }),
      el("span", { class: "name" }, row.label),
      el("span", { class: "state" }, el("span", { class: "hidden" }), el("span", {})),
      el("span", { class: "bar", "aria-hidden": "true" }, el("span")),
    );
    node.append(ticks(row.label, (answer) => say(row.label, answer)));
    return node;
  }

  function write(node, row, index) {
    const [key, sign, , standing, bar] = node.children;
    const sent = waiting(row.label);
    const as = sent && sent.answer !== null ? words(sent.answer) : row.state;
    attribute(node, "class", as);
    text(key, index < 9 ? String(index + 1) : "");
    text(sign, signs[as]);
    const guess = as === "yes" || as === "no" ? "" : percent(row.probability);
    // a sign tells those who see whether a label is in the set
    text(standing.firstChild, guess ? `${says[as]} ` : "");
    text(standing.lastChild, sent && page.held ? `${says[as]}, not yet saved` : guess || says[as]);
    width(bar.firstChild, as === "no" ? 0 : as === "yes" ? 1 : row.probability);
    node.lastChild.mark(as);
  }

  function update(next) {
    if (!state || state.item !== next.item) parts.title(`Item ${next.item}`, show(next.show, `Item ${next.item}`));
    state = next;
    parts.status(state);
    const asked = state.question;
    const sent = asked && waiting(asked.label);
    const kept = sent && page.held;
    text(ask, asked ? (kept ? "Kept:" : "Is it") : "No open question");
    text(name, asked ? (kept ? `${asked.label}: ${words(sent.answer)}` : `${asked.label}?`) : "");
    const shown = asked && !page.blind && !asked.control ? percent(asked.probability) : "";
    text(chance, shown);
    text(why, kept ? "The next question comes when the server is back." : asked?.control ? "Drawn at random, to check the model." : (asked?.why ?? state.stop ?? ""));
    const own = asked && !page.blind && !asked.control ? (asked.links ?? []) : [];
    text(links, own.map((link) => `${link.label} speaks ${link.says}`).join(" · "));
    answers.hidden = !asked;
    before.update(state, (answer) => `${answer.label}: ${words(answer.answer)}`);
    parts.stop(asked ? state.stop : null);

    rows = state.set.filter((row) => !hidden(row) || waiting(row.label)).sort((a, b) => order[a.state] - order[b.state]);
    rows = rows.slice(0, 60);
    patch(set, rows, (row) => row.label, one, write);
    const inside = state.set.filter((row) => row.state === "yes" || (row.state === "guessed" && !page.blind)).length;
    const expected = page.blind ? "" : percent(state.expected_precision);
    text(hint, page.blind ? "Guesses are hidden until you answer." : `${count(inside)} in the set${expected ? `, expected precision ${expected}` : ""}`);
    search.update(state.item);
  }

  function act(action) {
    const asked = state?.question;
    if (action === "search") return search.focus();
    if (!asked || !["yes", "no", "skip"].includes(action)) return undefined;
    const answer = { yes: true, no: false, skip: null }[action];
    // a second press meant the same question
    if (waiting(asked.label)?.answer === answer) return undefined;
    return say(asked.label, answer, true);
  }

  function digit(n, shift) {
    const row = rows[n - 1];
    if (!row || n > 9) return false;
    const as = waiting(row.label)?.answer ?? { yes: true, no: false }[row.state];
    say(row.label, shift ? false : !(as ?? false));
    return true;
  }

  const nextWords = (told) => {
    const asked = told.question;
    if (!asked) return `${sure(told.expected_precision)} No open question.`.trim();
    return `${page.blind ? "" : sure(told.expected_precision)} Next: ${asked.label}?`.trim();
  };

  side.append(question, list);
  return { node: parts.node, heading, update, act, digit, next: nextWords };
}

labels.spoken = (answer) => `${answer.label}: ${words(answer.answer)}`;

// The search: it asks the server at each letter, and shows what comes for the last one.
function finder(page, choose) {
  let found = [];
  let active = 0;
  let item;
  let asking = null;
  const box = el("ul", { role: "listbox", id: "found", "aria-label": "Labels found", hidden: true });
  const says = el("p", { class: "note", id: "found-says" });
  const input = el("input", {
    type: "search",
    id: "search",
    role: "combobox",
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    "aria-expanded": "false",
    "aria-controls": "found",
    "aria-autocomplete": "list",
    "aria-describedby": "found-says",
    placeholder: `Search ${count(page.session.labels)} labels`,
    "aria-label": "Search labels",
  });
  const open = page.button("search", "Search", () => input.focus(), "quiet");
  attribute(open, "tabindex", -1);

  function close() {
    asking?.abort();
    found = [];
    input.value = "";
    render("");
  }

  function render(words) {
    box.hidden = found.length === 0;
    attribute(input, "aria-expanded", found.length > 0 ? "true" : "false");
    patch(
      box,
      found,
      (row) => row.label,
      (row) =>
        el(
          "li",
          { role: "option", onclick: (event) => take(row.label, !event.shiftKey) },
          el("span", { class: "name" }, row.label),
          " ",
          el("small", {}),
        ),
      (node, row, index) => {
        attribute(node, "id", `found-${index}`);
        attribute(node, "aria-selected", index === active ? "true" : "false");
        const known = row.state === "yes" || row.state === "no" ? row.state : page.blind ? "" : percent(row.probability);
        text(node.lastChild, known);
      },
    );
    attribute(input, "aria-activedescendant", found[active] ? `found-${active}` : null);
    box.children[active]?.scrollIntoView?.({ block: "nearest" });
    text(says, words);
  }

  async function look() {
    asking?.abort();
    const q = input.value.trim();
    if (!q) {
      found = [];
      render("");
      return;
    }
    asking = new AbortController();
    try {
      const reply = await page.get("labels", { q, n: 30, item }, { signal: asking.signal });
      found = reply.labels.slice(0, 30);
      active = 0;
      const rest = reply.total > found.length ? `${count(found.length)} of ${count(reply.total)} labels. ` : "";
      render(found.length ? `${rest}Enter: yes, Shift-Enter: no, Esc: back.` : "No such label.");
    } catch (error) {
      if (error.name !== "AbortError") render(error.message);
    }
  }

  function take(label, yes) {
    choose(label, yes);
    close();
    input.focus();
  }

  input.addEventListener("input", look);
  input.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && found.length) {
      active = (active + by + found.length) % found.length;
      render(says.textContent);
    } else if (event.key === "Enter" && found[active]) {
      take(found[active].label, !event.shiftKey);
    } else if (event.key === "Escape") {
      close();
      input.blur();
    } else {
      return;
    }
    event.preventDefault();
  });
  return {
    node: el("div", { class: "find" }, el("div", { class: "row" }, input, open), box, says),
    focus: () => {
      input.closest("details").open = true;
      input.focus();
    },
    update(now) {
      if (now !== item) close();
      item = now;
    },
  };
}
