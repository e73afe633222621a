// Elements, lists that keep their elements, numbers as people read them. Text goes in as text only.

// An element: `class` and other attributes, `onclick` and the like as listeners, true for an attribute without a value.
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else attribute(node, name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Sets an attribute, or takes it away.
export function attribute(node, name, value) {
  if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value === true ? "" : value);
}

// Writes a text, if it is another one.
export function text(node, words) {
  const wanted = words ?? "";
  if (node.textContent !== wanted) node.textContent = wanted;
}

// Makes the children of an element those of a list; a child of the same key stays the same element, and keeps the focus.
export function patch(parent, list, key, make, update) {
  const focused = document.activeElement;
  const wanted = new Set(list.map((one) => String(key(one))));
  const old = new Map();
  for (const child of [...parent.children]) {
    if (wanted.has(child.dataset.key)) old.set(child.dataset.key, child);
    else child.remove();
  }
  let at = parent.firstElementChild;
  list.forEach((one, index) => {
    const name = String(key(one));
    let node = old.get(name);
    if (!node) {
      node = make(one);
      node.dataset.key = name;
    }
    update(node, one, index);
    if (node === at) at = at.nextElementSibling;
    else parent.insertBefore(node, at);
  });
  if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
}

// The width of a bar.
export function width(node, share) {
  node.style.inlineSize = `${Math.round(1000 * Math.min(1, Math.max(0, share ?? 0))) / 10}%`;
}

const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(n ?? 0);

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// A probability; never 0 or 100 unless it is.
export function percent(p) {
  if (p === null || p === undefined) return "";
  if (p > 0 && p < 0.005) return "<\u00a01\u00a0%";
  if (p < 1 && p > 0.995) return ">\u00a099\u00a0%";
  return `${Math.round(100 * p)}\u00a0%`;
}

// A value of a field.
export function value(v) {
  if (v === null || v === undefined) return "";
  if (typeof v !== "number") return String(v);
  if (Number.isInteger(v) && Math.abs(v) < 1e15) return whole.format(v);
  return String(Number(v.toPrecision(4)));
}

// A value with its sign.
export const signed = (v) => `${v > 0 ? "+" : v < 0 ? "−" : ""}${value(Math.abs(Number(v.toPrecision(3))))}`;
