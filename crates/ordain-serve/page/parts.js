// What the three kinds of pages have in common.
import { attribute, el, text } from "./dom.js";

// The cards: the thing itself, the question with its answers, and the list of what is known.
export function cards(first, second) {
  const title = el("h1", {}, first);
  const badge = el("span", { class: "badge" });
  const other = el("p", { class: "note" });
  const body = el("div");
  const thing = el("section", { class: "card thing" }, el("div", { class: "title" }, title, badge), other, body);
  const heading = el("h2", { tabindex: -1 });
  const question = el("section", { class: "card question", "aria-label": "Question" });
  const summary = el("summary", {}, el("h2", {}, second));
  const list = el("details", { class: "card list" }, summary);
  list.open = window.matchMedia("(min-width: 701px)").matches;
  const side = el("div", { class: "side" });
  const stop = el("p", { class: "enough" });
  return {
    node: el("div", { class: "page" }, thing, side),
    heading,
    question,
    list,
    side,
    listTitle: (words) => text(summary.firstChild, words),
    title(words, ...content) {
      text(title, words);
      body.replaceChildren(...content);
    },
    status(state) {
      text(badge, state.state === "done" ? "answered" : "");
      text(other, state.leased_by ? `${state.leased_by} is working on this too.` : "");
    },
    stop: (words) => text(stop, words ? `Enough for this one: ${words}` : ""),
    foot: (page) =>
      el(
        "div",
        { class: "foot" },
        stop,
        el(
          "div",
          { class: "row" },
          page.button("undo", "Undo", page.undo, "quiet"),
          page.button("redo", "Redo", page.redo, "quiet"),
          page.button("next", "Next", page.next, "quiet onward"),
        ),
      ),
  };
}

// The last answers on this item.
export function history(page) {
  const node = el("p", { class: "history" });
  return {
    node,
    update(state, words) {
      const waiting = page.held ? page.pending : [];
      const said = [...waiting].reverse().filter((body) => body.answer !== undefined).map((body) => `${words(body)} (not yet saved)`);
      said.push(...(state.history ?? []).slice(0, 5).map(words));
      text(node, said.length ? `Before: ${said.slice(0, 6).join(" · ")}` : "");
    },
  };
}

// Two buttons, yes and no, for a thing of a list.
export function ticks(name, choose) {
  const button = (words, sign, answer) =>
    el("button", { type: "button", class: `tick ${words}`, "aria-label": `${name}: ${words}`, onclick: () => choose(answer) }, el("span", { "aria-hidden": "true" }, sign));
  const yes = button("yes", "✓", true);
  const no = button("no", "✕", false);
  const node = el("span", { class: "ticks" }, yes, no);
  node.mark = (as) => {
    attribute(yes, "aria-pressed", String(as === "yes"));
    attribute(no, "aria-pressed", String(as === "no"));
  };
  return node;
}
