// Rankings: a grade for each document, the list re-ordered, and how good the order is so far.
import { attribute, el, patch, percent, text } from "./dom.js";
import { cards, history } from "./parts.js";
import { line, show } from "./show.js";

const meanings = {
  1: ["not relevant", "relevant"],
  2: ["not relevant", "partly", "relevant"],
  3: ["not relevant", "a little", "mostly", "fully"],
  4: ["not relevant", "a little", "partly", "mostly", "fully"],
};
const words = (grade) => (grade === null ? "skipped" : String(grade));

export function ranks(page) {
  let state = null;
  // the document in question, and whether the person chose it
  let current = null;
  let chosen = false;
  let most = 100;
  const parts = cards("Query", "Documents");
  const { heading, question, list, side } = parts;

  const need = el("p", { class: "need" });
  const title = el("h2", { class: "doc" });
  const body = el("div");
  const why = el("p", { class: "why" });
  const top = page.session.grades ?? 4;
  const grades = Array.from({ length: top + 1 }, (_, grade) => {
    const node = page.button(String(grade), meanings[top]?.[grade] ?? `grade ${grade}`, () => give(grade), "grade");
    attribute(node, "aria-label", `${grade}: ${meanings[top]?.[grade] ?? "grade"}`);
    return node;
  });
  const answers = el("div", { class: "answers grades", role: "group", "aria-label": "Grade" }, ...grades, page.button("skip", "Skip", () => give(null)));
  const before = history(page);
  const metric = el("p", { class: "metric" });
  const range = el("span", { class: "range", "aria-hidden": "true" }, el("span"), el("i"));
  question.append(el("div", { class: "asked" }, heading), why, answers, metric, range, before.node, parts.foot(page));
  const docs = el("ol", { class: "docs" });
  const more = el("button", { type: "button", onclick: () => again((most += 100)) }, "More documents");
  list.append(docs, more);

  const waiting = (id) => page.pending.filter((one) => one.doc === id).at(-1);
  const gradeOf = (doc) => waiting(doc.id)?.answer ?? doc.grade;
  const again = () => update(state);

  // The document to judge: the one chosen, or the server's, or, while answers wait, the next one without a grade.
  function pick() {
    const has = (id) => state.list.find((doc) => doc.id === id);
    if (chosen && has(current)) return has(current);
    const asked = state.question?.doc;
    if (asked !== undefined && !waiting(asked)) return has(asked);
    return state.list.find((doc) => gradeOf(doc) === null && !waiting(doc.id)) ?? null;
  }

  function choose(id) {
    current = id;
    chosen = true;
    again();
  }

  function give(grade) {
    const doc = pick();
    if (!doc || grade > top) return;
    const asked = !chosen || doc.id === state.question?.doc;
    chosen = false;
    page.answer({ doc: doc.id }, grade, asked);
  }

  function row(doc) {
    return el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "pair", onclick: () => choose(doc.id) },
        el("span", { class: "name" }, doc.id),
        " ",
        el("span", { class: "excerpt" }, line(doc.show)),
        " ",
        el("small", { class: "state" }),
      ),
    );
  }

  function write(node, doc) {
    const button = node.firstChild;
    const grade = gradeOf(doc);
    const guess = page.blind ? "" : `place ${doc.rank}`;
    text(button.lastChild, grade !== null && grade !== undefined ? `grade ${grade}${waiting(doc.id) && page.held ? ", not yet saved" : ""}` : guess);
    attribute(node, "class", grade === null || grade === undefined ? null : "judged");
    attribute(button, "aria-current", doc.id === current ? "true" : null);
  }

  let shown = null;
  function update(next) {
    if (state?.item !== next.item) {
      chosen = false;
      current = null;
      shown = null;
      most = 100;
      parts.title(next.query?.text ?? `Query ${next.item}`, need, title, body);
      text(need, next.need ?? "");
    }
    state = next;
    parts.status(state);
    const doc = pick();
    current = doc?.id ?? null;
    if (current !== shown) {
      text(title, doc ? `Document ${doc.id}` : "");
      body.replaceChildren(doc ? show(doc.show, `Document ${doc.id}`) : "");
      shown = current;
    }
    text(heading, doc ? `How relevant is ${doc.id}?` : "All documents have a grade");
    text(why, doc && doc.id === state.question?.doc ? (state.question.why ?? "") : (doc ? "" : (state.stop ?? "")));
    answers.hidden = !doc;
    const own = doc ? gradeOf(doc) : null;
    grades.forEach((button, grade) => attribute(button, "aria-pressed", String(own === grade)));
    const [name, quality] = Object.entries(state.metric ?? {})[0] ?? [];
    const now = quality?.now === null || quality?.now === undefined ? "" : ` ${percent(quality.now)},`;
    const known = quality && quality.least !== null;
    text(metric, known ? `${name.toUpperCase()} of the model so far:${now} between ${percent(quality.least)} and ${percent(quality.most)}` : "");
    range.hidden = !known;
    if (known) {
      range.firstChild.style.insetInlineStart = `${100 * quality.least}%`;
      range.firstChild.style.inlineSize = `${100 * (quality.most - quality.least)}%`;
      range.lastChild.style.insetInlineStart = `${100 * (quality.now ?? quality.least)}%`;
    }
    before.update(state, (answer) => `${answer.doc}: ${words(answer.answer)}`);
    parts.stop(doc ? state.stop : null);
    parts.listTitle(`${state.list.filter((one) => gradeOf(one) !== null).length} of ${state.list.length} documents judged`);
    patch(docs, state.list.slice(0, most), (one) => one.id, row, write);
    more.hidden = state.list.length <= most;
  }

  function act(action) {
    if (action === "skip") return give(null);
    const by = { up: -1, down: 1 }[action];
    if (!by || !state.list.length) return undefined;
    const at = state.list.findIndex((doc) => doc.id === current);
    const to = Math.min(state.list.length - 1, Math.max(0, at + by));
    if (to >= most) most += 100;
    choose(state.list[to].id);
    docs.children[to]?.scrollIntoView({ block: "nearest" });
    return undefined;
  }

  function digit(n, shift) {
    if (shift || n > top) return false;
    give(n);
    return true;
  }

  const nextWords = (told) => {
    const quality = Object.values(told.metric ?? {})[0];
    const bounds = quality && quality.least !== null ? `Between ${percent(quality.least)} and ${percent(quality.most)}. ` : "";
    return `${bounds}${told.question ? `Next: ${told.question.doc}` : "All documents have a grade"}.`;
  };

  side.append(question, list);
  return { node: parts.node, heading, update, act, digit, next: nextWords };
}

ranks.spoken = (answer) => `${answer.doc}: ${words(answer.answer)}`;
