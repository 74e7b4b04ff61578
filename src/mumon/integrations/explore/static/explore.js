// The page of `mumon explore`. Words come from files that anyone may have written: they reach the page as text nodes only.

const $ = (id) => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");
const number = new Intl.NumberFormat("en");

// --- making elements

function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A word that would be invisible is shown by signs that stand for its characters.
function shown(word) {
  if (word === "") return "(empty)";
  const seen = word.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "\ufffd");
  return seen.trim() === "" ? "\u2423".repeat(seen.length) : seen;
}

const wordElement = (word) => el("bdi", { dir: "auto", title: word }, shown(word));
const fixed = (score) => score.toFixed(3).replace("-", "\u2212");

// --- state: everything that can be shared is in the address

const DEFAULTS = { q: "", n: "10", a: "", b: "", c: "", mul: "", map: "", m: "0" };
let state = { ...DEFAULTS };
let about = null;

function addressOf(changes) {
  const all = { ...state, ...changes };
  const kept = Object.entries(all).filter(([name, value]) => value !== DEFAULTS[name]);
  return `#${new URLSearchParams(kept)}`;
}

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, given.get(name) ?? value]));
}

function go(changes, replace = false) {
  const address = addressOf(changes);
  if (address === (location.hash || "#")) return void refresh(true);
  if (!replace) return void (location.hash = address);
  history.replaceState(null, "", address);
  refresh();
}

// --- asking the server

async function ask(path, parameters, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) for (const one of [value].flat()) query.append(name, one);
  let response;
  try {
    response = await fetch(`/api/${path}?${query}`, { signal });
  } catch (error) {
    if (error.name !== "AbortError") gone("mumon explore does not answer: it has ended, or cannot be reached. Start it again.");
    throw error;
  }
  $("gone").hidden = true;
  const answer = await response.json();
  return { ...answer, status: response.status };
}

function gone(sentence) {
  $("gone").textContent = sentence;
  $("gone").hidden = false;
}

function say(sentence) {
  $("status").textContent = sentence;
}

// Only the newest of several requests of one kind matters.
class Latest {
  next() {
    this.controller?.abort();
    this.controller = new AbortController();
    return this.controller.signal;
  }
}

// --- completion

let combos = 0;

class Combo {
  constructor(input, { several, submit }) {
    Object.assign(this, { input, several, submit, active: -1, words: [], latest: new Latest() });
    this.list = el("ul", { class: "options", role: "listbox", id: `options${++combos}`, "aria-label": "Words", hidden: "" });
    input.after(this.list);
    const roles = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this.list.id };
    for (const [name, value] of Object.entries(roles)) input.setAttribute(name, value);
    input.addEventListener("input", () => this.later());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => this.close());
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the field
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("li");
      if (option) this.choose([...this.list.children].indexOf(option));
    });
  }

  // What is being typed: the whole field, or of several words the one before the cursor.
  term() {
    const before = this.input.value.slice(0, this.input.selectionStart);
    if (!this.several) return { begin: 0, end: this.input.value.length, text: this.input.value.trim() };
    const text = /[^\s,+\u2212]*$/.exec(before)[0].replace(/^-(?=.)/, "");
    return { begin: before.length - text.length, end: before.length, text };
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.suggest(), 50);
  }

  async suggest() {
    const { text } = this.term();
    if (!text || text === "-") return this.close();
    try {
      const { words } = await ask("suggest", { prefix: text, topn: 8 }, this.latest.next());
      if (document.activeElement === this.input) this.show(words ?? []);
    } catch { /* a newer one was asked, or the server has ended, which is told elsewhere */ }
  }

  show(words) {
    this.words = words.map(({ word }) => word);
    this.active = -1;
    this.list.replaceChildren(...words.map(({ word, count }, index) => el(
      "li", { role: "option", id: `${this.list.id}-${index}`, "aria-selected": "false" },
      wordElement(word), count === null ? null : el("span", {}, number.format(count)),
    )));
    this.list.hidden = !words.length;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    this.input.removeAttribute("aria-activedescendant");
    if (words.length) say(`${words.length} completion${words.length > 1 ? "s" : ""}`);
  }

  close() {
    clearTimeout(this.timer);
    this.latest.next();
    if (!this.list.hidden) this.show([]);
  }

  key(event) {
    const open = !this.list.hidden;
    if (event.isComposing) return; // an input method is still choosing characters
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (open) this.move(event.key === "ArrowDown" ? 1 : -1);
      else this.suggest();
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      this.close();
    } else if (event.key === "Enter" && open && this.active >= 0) {
      event.preventDefault();
      this.choose(this.active);
    }
  }

  move(step) {
    const places = this.words.length + 1; // one of them is the field itself
    this.active = ((this.active + 1 + step + places) % places) - 1;
    [...this.list.children].forEach((option, index) => {
      option.setAttribute("aria-selected", String(index === this.active));
      if (index === this.active) option.scrollIntoView({ block: "nearest" });
    });
    if (this.active < 0) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", `${this.list.id}-${this.active}`);
  }

  choose(index) {
    const { begin, end } = this.term();
    const { value } = this.input;
    const alone = !this.several || (value.slice(0, begin) + value.slice(end)).trim() === "";
    const word = !alone && /[\s,]/.test(this.words[index]) ? `"${this.words[index]}"` : this.words[index];
    this.input.value = alone ? word : value.slice(0, begin) + word + value.slice(end);
    this.input.setSelectionRange(begin + word.length, begin + word.length);
    this.close();
    this.submit(alone);
  }
}

// --- rankings

function ranking(items, { best, both }) {
  return el("ol", { class: "ranking" }, items.map(({ word, score }) => {
    const bar = el("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--part", Math.max(0, Math.min(1, score / best)).toFixed(4));
    const shared = both.has(word) ? el("span", { class: "both", title: "In both models" }) : null;
    const told = both.has(word) ? el("span", { class: "unseen" }, "in both models") : null;
    const link = el("a", { href: addressOf({ q: word }) }, bar, shared, wordElement(word), told, el("span", { class: "score" }, fixed(score)));
    link.dataset.word = word;
    return el("li", {}, link);
  }));
}

function errorElement(answer, fix) {
  const message = el("p", { class: "error" }, `${answer.error.charAt(0).toUpperCase()}${answer.error.slice(1)}${/[.?]$/.test(answer.error) ? "" : "."}`);
  if (answer.suggestion) message.append(" ", el("a", { href: addressOf(fix(answer)) }, "Look up ", wordElement(answer.suggestion)));
  return message;
}

// Answers of all models beside each other, with what they have in common.
function columns(place, answers, list, fix) {
  if (answers.every(({ error }) => error && error === answers[0].error)) {
    return void place.replaceChildren(el("div", { class: "overlap" }, errorElement(answers[0], fix)));
  }
  const words = answers.map((answer) => new Set((answer[list] ?? []).map(({ word }) => word)));
  const whole = answers.length === 2 && answers.every((answer) => answer[list]);
  const both = whole ? new Set([...words[0]].filter((word) => words[1].has(word))) : new Set();
  const best = Math.max(1, ...answers.flatMap((answer) => (answer[list] ?? []).map(({ score }) => score)));
  const parts = answers.map((answer, index) => el(
    "div", { class: index ? "second" : "first" },
    answers.length > 1 ? el("h3", { title: about.models[index].name }, el("span", { class: "swatch", "aria-hidden": "true" }), about.models[index].name) : null,
    answer.error ? errorElement(answer, fix) : ranking(answer[list], { best, both }),
  ));
  if (whole) {
    const all = new Set([...words[0], ...words[1]]).size;
    const share = all ? both.size / all : 0;
    parts.unshift(el(
      "p", { class: "overlap muted legend" }, el("span", { class: "both", "aria-hidden": "true" }),
      `${both.size} of ${Math.max(words[0].size, words[1].size)} in both models \u00b7 Jaccard ${share.toFixed(2)}`,
    ));
  }
  place.replaceChildren(...parts);
}

// Arrow keys walk through a ranking, and from one column to the other.
function walkByArrows(place) {
  place.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], Home: [-999, 0], End: [999, 0] };
    const link = event.target.closest(".ranking a");
    if (!link || !steps[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const lists = [...place.querySelectorAll(".ranking")].map((list) => [...list.querySelectorAll("a")]);
    const column = lists.findIndex((links) => links.includes(link));
    const [down, right] = steps[event.key];
    const links = lists[Math.max(0, Math.min(lists.length - 1, column + right))];
    links[Math.max(0, Math.min(links.length - 1, lists[column].indexOf(link) + down))]?.focus();
  });
  const point = (event) => {
    const word = event.target.closest?.(".ranking a")?.dataset.word;
    for (const link of place.querySelectorAll(".ranking a")) link.classList.toggle("same", word !== undefined && link.dataset.word === word);
    if (word !== undefined || event.type.endsWith("out")) map.point(word ?? null);
  };
  for (const kind of ["pointerover", "pointerout", "focusin", "focusout"]) place.addEventListener(kind, point);
}

const askAll = (path, parameters, signal) => Promise.all(about.models.map((_, model) => ask(path, { ...parameters, model }, signal)));

// --- neighbours

const latestNeighbours = new Latest();

async function showNeighbours() {
  $("search").value = state.q;
  document.title = state.q ? `${shown(state.q)} \u2013 mumon explore` : "mumon explore";
  $("start").hidden = state.q !== "";
  if (!state.q) {
    latestNeighbours.next();
    $("near-head").hidden = $("near-foot").hidden = true;
    $("near").replaceChildren();
    return void map.highlight("near", []);
  }
  const walking = $("near").contains(document.activeElement);
  let answers;
  try {
    answers = await askAll("neighbours", { q: state.q, topn: state.n }, latestNeighbours.next());
  } catch {
    return;
  }
  columns($("near"), answers, "neighbours", ({ word, suggestion }) => ({ q: state.q.replace(word, () => suggestion) }));
  const answer = answers.find((one) => !one.error);
  $("near-head").hidden = $("near-foot").hidden = !answer;
  if (answer) heading(answer, answers);
  if (walking) ($("near").querySelector(".ranking a") ?? $("search")).focus({ preventScroll: true });
  say(answer ? `${answer.neighbours.length} words nearest to ${state.q}` : answers[0].error);
  map.highlight("near", answers.map((one) => (one.error ? null : {
    centre: one.terms.map(({ word }) => word), around: one.neighbours.map(({ word }) => word), lines: [],
  })));
}

function heading(answer, answers) {
  const single = answer.terms.length === 1;
  const link = ({ word }) => (single ? wordElement(word) : el("a", { href: addressOf({ q: word }) }, wordElement(word)));
  const sign = ({ sign: text }, index) => (index || text === "-" ? [el("i", {}, text === "-" ? "\u2212" : "+")] : []);
  $("near-asked").replaceChildren(...answer.terms.flatMap((one, index) => [...sign(one, index), link(one)]));
  const [{ count, rank }] = answer.terms;
  const facts = [];
  if (single) facts.push(...(count === null ? [] : [`${number.format(count)} times`]), `rank ${number.format(rank)}`);
  const cosines = answers.filter((one) => one.cosine !== undefined).map((one) => fixed(one.cosine));
  if (cosines.length) facts.push(`cosine of the two ${cosines.join(" and ")}`);
  $("near-about").textContent = facts.join(" \u00b7 ");
}

// --- analogies

const latestAnalogy = new Latest();

async function showAnalogy() {
  for (const name of ["a", "b", "c"]) $(name).value = state[name];
  $("mul").checked = state.mul === "1";
  if (!state.a && !state.b && !state.c) {
    latestAnalogy.next();
    $("analogy").replaceChildren();
    return void map.highlight("analogy", []);
  }
  const walking = $("analogy").contains(document.activeElement);
  const { a, b, c, mul } = state;
  let answers;
  try {
    answers = await askAll("analogy", { a, b, c, mul }, latestAnalogy.next());
  } catch {
    return;
  }
  columns($("analogy"), answers, "answers", ({ word, suggestion }) => Object.fromEntries(["a", "b", "c"].filter((name) => state[name].trim() === word).map((name) => [name, suggestion])));
  if (walking) $("analogy").querySelector(".ranking a")?.focus({ preventScroll: true });
  say(answers[0].error ?? `${a} is to ${b} as ${c} is to ${answers[0].answers[0]?.word ?? "nothing"}`);
  map.highlight("analogy", answers.map((one) => {
    if (one.error || !one.answers.length) return null;
    const best = one.answers[0].word;
    return { centre: [a, b, c].map((word) => word.trim()), around: [best], lines: [[a.trim(), b.trim()], [c.trim(), best]] };
  }));
}

// --- the map

const LARGEST_ZOOM = 400;

class WordMap {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.view = { x: 32768, y: 32768, scale: 0.01 }; // the place in the middle, and pixels per unit
    this.data = null;
    this.marks = { centre: [], around: [], lines: [] };
    this.found = { near: [], analogy: [] }; // what could be highlighted, in every model
    this.topic = "near"; // and which of the two is, the one that was asked for last
    this.widths = new Map();
    this.pointers = new Map();
    this.labels = [];
    this.hover = null;
    this.pointed = null;
    this.keyed = false; // whether keys, not a pointer, were used last
    this.drawn = { middle: null }; // the word that was marked in the middle, for whoever drives this page by a program
    new ResizeObserver(() => this.resize()).observe(canvas);
    dark.addEventListener("change", () => this.redraw());
    this.listen();
  }

  // --- data

  async load(kind, index) {
    this.wanted = `${kind} ${index}`;
    const wanted = this.wanted;
    clearTimeout(this.polling);
    let answer = this.cache?.get(wanted);
    if (!answer) {
      try {
        answer = await ask("map", { projection: kind, model: index });
      } catch {
        return;
      }
      if (answer.words) (this.cache ??= new Map()).set(wanted, (answer = this.unpacked(answer, kind, index)));
    }
    if (wanted !== this.wanted) return;
    if (answer.words) {
      $("map-note").textContent = "";
      this.show(answer);
    } else if (answer.status === 202) {
      $("map-note").textContent = `UMAP is at work: ${Math.round(answer.working)} s so far\u2026`;
      this.polling = setTimeout(() => this.load(kind, index), 1000);
      if (!this.data || this.data.index !== index) this.showMeanwhile(index);
    } else {
      $("map-note").textContent = answer.error;
    }
  }

  async showMeanwhile(index) {
    const { wanted } = this;
    const answer = await ask("map", { projection: "pca", model: index });
    if (wanted === this.wanted && answer.words) this.show(this.unpacked(answer, "pca", index));
  }

  unpacked(answer, kind, index) {
    const numbers = (text) => Float32Array.from(new Uint16Array(Uint8Array.from(atob(text), (char) => char.charCodeAt(0)).buffer));
    const places = new Map(answer.words.map((word, place) => [word, place]));
    return { ...answer, x: numbers(answer.x), y: numbers(answer.y).map((y) => 65535 - y), places, kind, index };
  }

  show(data) {
    const before = this.data;
    this.data = data;
    this.hover = null;
    this.hideTip();
    if (before?.kind !== data.kind) this.fit(false);
    if (before) this.morph(before);
    const name = about.models.length > 1 ? ` of ${about.models[data.index].name}` : "";
    const amount = data.words.length < about.models[data.index].words ? `The ${number.format(data.words.length)} most frequent words` : `All ${number.format(data.words.length)} words`;
    const how = data.kind === "pca" ? `PCA, two axes with ${Math.round(data.share * 100)} % of the variance` : "UMAP: near means alike, far says little";
    $("map-about").textContent = `${amount}${name} \u00b7 ${how}`;
    this.canvas.setAttribute("aria-label", `Map of ${number.format(data.words.length)} words${name}`);
    this.mark();
  }

  // Words that both maps have glide from one to the other.
  morph(before) {
    if (calm.matches || before.words.length > 20000) return this.redraw();
    const from = this.data.words.map((word) => before.places.get(word) ?? -1);
    const { x, y } = this.data;
    const moved = { x: x.slice(), y: y.slice() };
    this.animate(600, (part) => {
      for (let i = 0; i < x.length; i++) {
        const j = from[i];
        moved.x[i] = j < 0 ? x[i] : before.x[j] + (x[i] - before.x[j]) * part;
        moved.y[i] = j < 0 ? y[i] : before.y[j] + (y[i] - before.y[j]) * part;
      }
      this.moved = part < 1 ? moved : null;
    });
  }

  // --- highlights

  highlight(topic, found) {
    this.found[topic] = found;
    if (topic === this.topic) this.mark();
  }

  async mark() {
    if (!this.data) return;
    const { kind, index } = this.data;
    const found = this.found[this.topic][index];
    const none = { centre: [], around: [], lines: [] };
    this.marks = none;
    this.asking = found;
    $("find").disabled = !found;
    if (!found) return this.redraw();
    const words = [...new Set([...found.centre, ...found.around])];
    const there = new Map();
    const missing = words.filter((word) => !this.data.places.has(word));
    if (missing.length) {
      try {
        const { places } = await ask("places", { projection: kind, model: index, word: missing });
        places.forEach((place, i) => place && there.set(missing[i], { x: place[0], y: 65535 - place[1], guest: true }));
      } catch { /* told elsewhere */ }
      if (this.asking !== found) return;
    }
    for (const word of words) {
      const place = this.data.places.get(word);
      if (place !== undefined) there.set(word, { x: this.data.x[place], y: this.data.y[place], place });
    }
    const known = (list) => list.filter((word) => there.has(word)).map((word) => ({ word, ...there.get(word) }));
    this.marks = {
      centre: known(found.centre), around: known(found.around),
      lines: found.lines.filter((pair) => pair.every((word) => there.has(word))).map((pair) => pair.map((word) => there.get(word))),
    };
    $("find").disabled = !this.marks.centre.length && !this.marks.around.length;
    this.redraw();
  }

  point(word) {
    const mark = word === null ? null : [...this.marks.centre, ...this.marks.around].find((one) => one.word === word);
    if (mark === this.pointed) return;
    this.pointed = mark ?? null;
    this.redraw();
  }

  find() {
    const marks = [...this.marks.centre, ...this.marks.around];
    if (!marks.length) return;
    const [x, y] = ["x", "y"].map((axis) => marks.map((mark) => mark[axis]));
    const box = [Math.min(...x), Math.max(...x), Math.min(...y), Math.max(...y)];
    const most = Math.max(this.whole * 12, this.view.scale);
    this.moveTo(this.viewOf(box, 0.22, most));
    if (matchMedia("(max-width: 61rem)").matches) this.canvas.scrollIntoView({ block: "center", behavior: calm.matches ? "auto" : "smooth" });
  }

  // --- the view

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    const first = !this.width;
    this.ratio = Math.min(3, window.devicePixelRatio || 1);
    [this.canvas.width, this.canvas.height] = [Math.round(width * this.ratio), Math.round(height * this.ratio)];
    const grown = first ? 1 : Math.min(width, height) / Math.min(this.width, this.height);
    [this.width, this.height] = [width, height];
    this.view = { ...this.view, scale: this.view.scale * grown };
    if (first && this.data) this.fit(false);
    else if (this.data) this.whole = this.viewOf(this.box(), 0.04).scale;
    this.draw();
  }

  viewOf([left, right, top, bottom], margin, most = Infinity) {
    const room = 1 - 2 * margin;
    const scale = Math.min(most, (this.width * room) / Math.max(1, right - left), (this.height * room) / Math.max(1, bottom - top));
    return { x: (left + right) / 2, y: (top + bottom) / 2, scale };
  }

  // Nearly everything: a few outliers, or an island of UMAP's, would make the rest small.
  box() {
    const range = (numbers) => {
      const sorted = numbers.slice().sort();
      const last = sorted.length - 1;
      const cut = Math.floor(last * 0.03);
      const room = (sorted[last - cut] - sorted[cut]) * 0.28;
      return [Math.max(sorted[0], sorted[cut] - room), Math.min(sorted[last], sorted[last - cut] + room)];
    };
    return [...range(this.data.x), ...range(this.data.y)];
  }

  fit(glide = true) {
    if (!this.data || !this.width) return;
    const view = this.viewOf(this.box(), 0.04);
    this.whole = view.scale;
    if (glide) this.moveTo(view);
    else this.set(view);
  }

  set({ x, y, scale }) {
    const within = (value) => Math.max(-10000, Math.min(75535, value));
    const whole = this.whole ?? scale;
    this.view = { x: within(x), y: within(y), scale: Math.max(whole / 3, Math.min(whole * LARGEST_ZOOM, scale)) };
    if (!this.aiming) this.hideTip();
    this.redraw();
  }

  moveTo(view) {
    if (calm.matches) return this.set(view);
    const from = this.view;
    this.animate(380, (part) => this.set({
      x: from.x + (view.x - from.x) * part, y: from.y + (view.y - from.y) * part,
      scale: from.scale * (view.scale / from.scale) ** part,
    }));
  }

  animate(duration, step) {
    cancelAnimationFrame(this.animation);
    const began = performance.now();
    const frame = (now) => {
      const part = Math.min(1, Math.max(0, (now - began) / duration));
      step(part < 1 ? 1 - (1 - part) ** 3 : 1);
      this.redraw();
      if (part < 1) this.animation = requestAnimationFrame(frame);
    };
    this.animation = requestAnimationFrame(frame);
  }

  zoom(factor, x = this.width / 2, y = this.height / 2, glide = false) {
    const [right, down] = [(x - this.width / 2) / this.view.scale, (y - this.height / 2) / this.view.scale];
    const scale = Math.max(this.whole / 3, Math.min(this.whole * LARGEST_ZOOM, this.view.scale * factor));
    const kept = 1 - this.view.scale / scale; // what is under the pointer stays there
    const view = { x: this.view.x + right * kept, y: this.view.y + down * kept, scale };
    if (glide) this.moveTo(view);
    else this.set(view);
  }

  pan(right, down, glide = false) {
    const view = { ...this.view, x: this.view.x - right / this.view.scale, y: this.view.y - down / this.view.scale };
    if (glide) this.moveTo(view);
    else this.set(view);
  }

  toScreen(x, y) {
    return [(x - this.view.x) * this.view.scale + this.width / 2, (y - this.view.y) * this.view.scale + this.height / 2];
  }

  // --- drawing

  redraw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.draw();
    });
  }

  draw() {
    if (!this.data || !this.width) return;
    const { context: pen } = this;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const second = this.data.index === 1;
    this.colours = {
      ink: colour("--ink"), muted: colour("--muted"), dot: colour("--dot"), dim: colour("--dim"),
      ground: colour("--sunken"), hue: colour(second ? "--second" : "--first"),
    };
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    this.drawDots(pen);
    this.drawLines(pen);
    this.grid = new Map();
    this.labels = [];
    this.take([this.width - 58, this.height - 138, this.width, this.height]); // where the buttons are
    const middle = this.aiming && !this.moved ? this.aim() : null;
    this.drawn = { middle: middle?.word ?? null };
    if (middle) this.drawMiddle(pen, middle);
    this.drawMarks(pen);
    if (!this.moved) this.drawLabels(pen);
    this.drawHover(pen);
    if (this.aiming) this.drawCross(pen);
  }

  get isMarked() {
    return this.marks.centre.length + this.marks.around.length > 0;
  }

  drawDots(pen) {
    const { x, y } = this.moved ?? this.data;
    const grown = Math.min(2.2, Math.max(1, (this.view.scale / this.whole) ** 0.35));
    pen.fillStyle = this.isMarked ? this.colours.dim : this.colours.dot;
    const { scale } = this.view;
    const [right, down] = [this.width / 2 - this.view.x * scale, this.height / 2 - this.view.y * scale];
    for (let i = x.length - 1; i >= 0; i--) { // up to 50,000: no array for each
      const left = x[i] * scale + right;
      const top = y[i] * scale + down;
      if (left < -5 || top < -5 || left > this.width + 5 || top > this.height + 5) continue;
      const radius = (i < 200 ? 2.1 : i < 2000 ? 1.5 : 1.1) * grown;
      if (radius < 1.4) { // so small that nobody sees its corners
        pen.fillRect(left - radius * 0.9, top - radius * 0.9, radius * 1.8, radius * 1.8);
        continue;
      }
      pen.beginPath();
      pen.arc(left, top, radius, 0, 2 * Math.PI);
      pen.fill();
    }
  }

  drawLines(pen) {
    pen.strokeStyle = this.colours.hue;
    pen.lineWidth = 1.5;
    for (const [from, to] of this.marks.lines) {
      const [[x1, y1], [x2, y2]] = [this.toScreen(from.x, from.y), this.toScreen(to.x, to.y)];
      const angle = Math.atan2(y2 - y1, x2 - x1);
      const [x, y] = [x2 - 7 * Math.cos(angle), y2 - 7 * Math.sin(angle)];
      pen.beginPath();
      pen.moveTo(x1, y1);
      pen.lineTo(x, y);
      for (const turn of [2.7, -2.7]) {
        pen.moveTo(x + 9 * Math.cos(angle + turn), y + 9 * Math.sin(angle + turn));
        pen.lineTo(x, y);
      }
      pen.stroke();
    }
  }

  drawMarks(pen) {
    if (this.moved) return;
    const { hue, ground } = this.colours;
    const asked = new Set(this.marks.centre.map(({ word }) => word));
    const around = this.marks.around.filter(({ word }) => !asked.has(word));
    pen.lineWidth = 1.75;
    for (const [marks, radius] of [[around, 4], [this.marks.centre, 6]]) {
      for (const mark of marks) {
        const [left, top] = this.toScreen(mark.x, mark.y);
        pen.beginPath();
        pen.arc(left, top, radius, 0, 2 * Math.PI);
        pen.fillStyle = mark.guest ? ground : hue;
        pen.strokeStyle = mark.guest ? hue : ground;
        pen.fill();
        pen.stroke();
      }
    }
    for (const [marks, radius] of [[around, 4], [this.marks.centre, 6]]) {
      for (const mark of marks) {
        const [left, top] = this.toScreen(mark.x, mark.y);
        this.take([left - radius, top - radius, left + radius, top + radius, "dot"]);
      }
    }
    const unnamed = ({ word }) => word !== this.drawn.middle;
    for (const mark of this.marks.centre.filter(unnamed)) this.label(pen, mark.word, mark, { weight: 700, size: 15, gap: 9, pad: 2, ink: hue });
    for (const mark of around.filter(unnamed)) this.label(pen, mark.word, mark, { weight: 600, size: 13, gap: 7, pad: 2, ink: hue });
  }

  drawLabels(pen) {
    const { x, y, words } = this.data;
    const ink = this.isMarked ? this.colours.muted : this.colours.ink;
    const marked = new Set([...this.marks.centre, ...this.marks.around].map(({ word }) => word));
    marked.add(this.drawn.middle);
    for (let i = 0; i < words.length; i++) {
      const [left, top] = this.toScreen(x[i], y[i]);
      if (left < -80 || top < -20 || left > this.width + 80 || top > this.height + 20 || marked.has(words[i])) continue;
      if (this.taken(left + 4, top - 7, left + 30, top + 7)) continue; // before its text is measured
      this.label(pen, words[i], { x: x[i], y: y[i], place: i }, { weight: 400, size: i < 300 ? 13 : 12, gap: 5, pad: 9, ink });
    }
  }

  // Put a word beside its dot where there is room, right or left; a highlighted one may stand elsewhere around it, and
  // if need be on the dot of another.
  label(pen, word, mark, { weight, size, gap, pad, ink }) {
    const [left, top] = this.toScreen(mark.x, mark.y);
    pen.font = `${weight} ${size}px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif`;
    const key = `${weight} ${size} ${word}`;
    let text = this.widths.get(key);
    if (!text) {
      const whole = shown(word);
      const cut = [...whole].length > 28 ? `${[...whole].slice(0, 27).join("")}\u2026` : whole;
      this.widths.set(key, (text = { cut, width: pen.measureText(cut).width }));
    }
    const half = size * 0.6;
    const spots = [[left + gap, top], [left - gap - text.width, top]];
    if (weight > 400) {
      const [up, down] = [top - gap - half, top + gap + half];
      spots.push([left - text.width / 2, up], [left - text.width / 2, down], [left + 3, up], [left + 3, down], [left - text.width - 3, up], [left - text.width - 3, down]);
      spots.push(...spots.map(([x, y]) => [x, y, true]));
    }
    for (const [x, y, onDots] of spots) {
      const box = [x - pad, y - half - pad / 2, x + text.width + pad, y + half + pad / 2];
      const outside = x < 3 || y - half < 3 || x + text.width > this.width - 3 || y + half > this.height - 3;
      if (outside || this.taken(...box, onDots)) continue;
      this.take(box);
      this.labels.push({ word, box: [x, y - half, x + text.width, y + half] });
      pen.textBaseline = "middle";
      pen.textAlign = "left";
      pen.direction = "ltr";
      pen.lineJoin = "round";
      pen.lineWidth = weight > 400 ? 4 : 3;
      pen.strokeStyle = this.colours.ground;
      pen.strokeText(text.cut, x, y);
      pen.fillStyle = ink;
      pen.fillText(text.cut, x, y);
      return;
    }
  }

  // Boxes that are taken, found by the squares of a grid that they touch.
  squares([left, top, right, bottom]) {
    const keys = [];
    for (let column = Math.floor(left / 64); column <= Math.floor(right / 64); column++) {
      for (let row = Math.floor(top / 64); row <= Math.floor(bottom / 64); row++) keys.push(column * 4096 + row);
    }
    return keys;
  }

  take(box) {
    for (const key of this.squares(box)) {
      if (this.grid.has(key)) this.grid.get(key).push(box);
      else this.grid.set(key, [box]);
    }
  }

  taken(left, top, right, bottom, exceptDots = false) {
    return this.squares([left, top, right, bottom]).some((key) => this.grid.get(key)?.some(
      (box) => !(exceptDots && box[4]) && box[0] < right && box[2] > left && box[1] < bottom && box[3] > top,
    ));
  }

  drawHover(pen) {
    const ring = (x, y, radius) => {
      const [left, top] = this.toScreen(x, y);
      pen.beginPath();
      pen.arc(left, top, radius, 0, 2 * Math.PI);
      pen.lineWidth = 2;
      pen.strokeStyle = this.colours.ink;
      pen.stroke();
    };
    if (this.hover) ring(this.hover.x, this.hover.y, 6);
    if (this.pointed) ring(this.pointed.x, this.pointed.y, 9);
  }

  // The word that Enter looks up gets its label before all others.
  drawMiddle(pen, middle) {
    const [x, y] = [this.width / 2, this.height / 2];
    this.take([x - 8, y - 8, x + 8, y + 8, "dot"]); // where the cross will be
    this.label(pen, middle.word, middle, { weight: 700, size: 15, gap: 11, pad: 2, ink: this.colours.ink });
  }

  drawCross(pen) {
    const [x, y] = [this.width / 2, this.height / 2];
    pen.beginPath();
    for (const [right, down] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      pen.moveTo(x + 3 * right, y + 3 * down);
      pen.lineTo(x + 10 * right, y + 10 * down);
    }
    for (const [width, colour] of [[5, this.colours.ground], [2, this.colours.ink]]) { // seen on dots and words, too
      pen.lineWidth = width;
      pen.strokeStyle = colour;
      pen.stroke();
    }
  }

  // --- hands

  // Whether the middle of the view is what keys act on.
  get aiming() {
    return this.keyed && document.activeElement === this.canvas;
  }

  // The word whose dot is nearest to the middle, if one is near enough to be seen.
  middle() {
    const { x, y } = this.data;
    let best = null;
    let least = (Math.min(this.width, this.height) / 2 / this.view.scale) ** 2;
    const near = (right, down, found) => {
      const distance = (right - this.view.x) ** 2 + (down - this.view.y) ** 2;
      if (distance < least) [least, best] = [distance, found];
    };
    for (let i = 0; i < x.length; i++) near(x[i], y[i], i);
    for (const mark of [...this.marks.centre, ...this.marks.around]) if (mark.guest) near(mark.x, mark.y, mark);
    return typeof best === "number" ? this.entry(best) : best;
  }

  // Name the word in the middle, and say it when it is another one than before.
  aim() {
    const found = this.middle();
    if (found) {
      if (found.word !== this.aimed) say(found.word);
      this.hover = found;
      this.showTip(found);
    } else {
      this.hideTip();
    }
    this.aimed = found?.word;
    return found;
  }

  // Keys act on the middle, or, once a pointer has been used, on the word under it.
  byKeys(keyed) {
    if (this.keyed === keyed) return;
    this.keyed = keyed;
    this.aimed = undefined;
    if (!keyed) this.hideTip();
    this.redraw();
  }

  lookUp() {
    if (!this.aiming && !this.hover) return this.byKeys(true); // which shows it: nobody means a word that is not seen
    const found = this.aiming ? this.aim() : this.hover;
    if (found) go({ q: found.word });
    else say("No word is near the middle of the map; 0 shows everything");
  }

  // The word at a place of the screen: of labels the one that is hit, else the nearest dot.
  at(x, y, reach) {
    if (!this.data) return null;
    const hit = this.labels.find(({ box }) => x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3]);
    const guests = [...this.marks.centre, ...this.marks.around].filter(({ guest }) => guest);
    const where = (word) => guests.find((mark) => mark.word === word) ?? this.entry(this.data.places.get(word));
    if (hit) return where(hit.word);
    let best = null;
    let least = reach * reach;
    const near = (left, top, found) => {
      const distance = (left - x) ** 2 + (top - y) ** 2;
      if (distance < least) [least, best] = [distance, found];
    };
    for (let i = 0; i < this.data.x.length; i++) near(...this.toScreen(this.data.x[i], this.data.y[i]), i);
    for (const mark of guests) near(...this.toScreen(mark.x, mark.y), mark);
    return typeof best === "number" ? this.entry(best) : best;
  }

  entry(place) {
    return place === undefined ? null : { word: this.data.words[place], x: this.data.x[place], y: this.data.y[place], place };
  }

  over(found, touch = false) {
    if (found?.word === this.hover?.word && !touch) return;
    this.hover = found;
    this.canvas.classList.toggle("word", !!found);
    if (!found) this.hideTip();
    else this.showTip(found, touch);
    this.redraw();
  }

  showTip({ word, x, y, place }, touch) {
    const tip = $("tip");
    const facts = [];
    if (place !== undefined) {
      if (this.data.counts) facts.push(`${number.format(this.data.counts[place])} times`);
      facts.push(`rank ${number.format(place + 1)}`);
    }
    tip.replaceChildren(wordElement(word), el("span", { class: "muted" }, facts.join(" \u00b7 ")));
    if (touch) tip.append(el("a", { href: addressOf({ q: word }) }, "Look up"));
    tip.hidden = false;
    const [left, top] = this.toScreen(x, y);
    const { offsetWidth: wide, offsetHeight: high } = tip;
    tip.style.left = `${Math.max(4, Math.min(this.width - wide - 4, left - wide / 2))}px`;
    tip.style.top = `${top - high - 14 < 4 ? Math.min(this.height - high - 4, top + 14) : top - high - 14}px`;
  }

  hideTip() {
    $("tip").hidden = true;
    this.hover = null;
    this.canvas.classList.remove("word");
  }

  spot(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.byKeys(false);
      const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      this.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0018)), ...this.spot(event));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      cancelAnimationFrame(this.animation);
      this.byKeys(false);
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, this.spot(event));
      this.dragged = this.pointers.size > 1;
      this.pressed = this.spot(event);
    });
    canvas.addEventListener("pointermove", (event) => this.moveHand(event));
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => this.lift(event));
    canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && !this.pointers.size && this.over(null));
    canvas.addEventListener("dblclick", (event) => {
      clearTimeout(this.clicking);
      this.zoom(event.shiftKey ? 0.5 : 2, ...this.spot(event), true);
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && this.byKeys(true)); // not by a click
    canvas.addEventListener("blur", (event) => {
      if ($("tip").contains(event.relatedTarget)) return;
      this.byKeys(false);
      this.over(null);
    });
  }

  moveHand(event) {
    const before = this.pointers.get(event.pointerId);
    const now = this.spot(event);
    if (!before) {
      const place = `${event.screenX} ${event.screenY}`;
      if (place === this.rest && this.keyed) return; // what moved is the page, under a pointer at rest
      this.rest = place;
      this.byKeys(false);
      if (event.pointerType === "mouse") this.over(this.at(...now, 12));
      return;
    }
    if (!this.dragged && Math.hypot(now[0] - this.pressed[0], now[1] - this.pressed[1]) < 5) return;
    this.dragged = true;
    this.canvas.classList.add("drag");
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, now);
    if (other) {
      const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      this.zoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      this.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    } else {
      this.pan(now[0] - before[0], now[1] - before[1]);
    }
  }

  lift(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    this.canvas.classList.remove("drag");
    if (this.pointers.size || this.dragged || event.type === "pointercancel") return;
    const touch = event.pointerType !== "mouse";
    const found = this.at(...this.spot(event), touch ? 26 : 12);
    if (touch && found && found.word !== this.hover?.word) return this.over(found, true);
    if (!found) return this.over(null);
    clearTimeout(this.clicking); // a second click soon after is a double click, which zooms
    this.clicking = setTimeout(() => go({ q: found.word }), 260);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = 80;
    const actions = {
      "+": () => this.zoom(1.6, undefined, undefined, true), "=": () => this.zoom(1.6, undefined, undefined, true),
      "-": () => this.zoom(1 / 1.6, undefined, undefined, true), 0: () => this.fit(),
      ArrowLeft: () => this.pan(step, 0), ArrowRight: () => this.pan(-step, 0),
      ArrowUp: () => this.pan(0, step), ArrowDown: () => this.pan(0, -step),
      Escape: () => this.over(null), Enter: () => this.lookUp(), " ": () => this.lookUp(),
    };
    if (!actions[event.key] || !this.data) return;
    event.preventDefault();
    actions[event.key]();
    if (["Enter", " "].includes(event.key)) return;
    this.byKeys(event.key !== "Escape");
    if (this.aiming) this.aim();
  }
}

// --- training

const PLOTS = [
  { title: "Loss per word", field: "loss", text: (value) => value.toFixed(3) },
  { title: "Learning rate", field: "rate", text: (value) => Number(value.toPrecision(3)).toString() },
  { title: "Words per second", field: "speed", text: (value) => new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(value) },
];

function ticks(low, high) {
  const step = 10 ** Math.floor(Math.log10((high - low) / 3));
  const size = [1, 2, 5, 10].map((times) => times * step).find((one) => (high - low) / one <= 5);
  const first = Math.ceil(low / size - 1e-9);
  return Array.from({ length: Math.floor(high / size + 1e-9) - first + 1 }, (_, i) => Number(((first + i) * size).toPrecision(12)));
}

function plot({ title, field, text }, models) {
  const series = models.map(({ history: epochs }) => epochs.filter((epoch) => epoch[field] !== null).map((epoch) => [epoch.epoch, epoch[field]]));
  const isRate = field === "rate"; // which is that of the end of an epoch, so the first one is put before all
  if (isRate) series.forEach((points, index) => points.length && models[index].first_rate !== null && points.unshift([points[0][0] - 1, models[index].first_rate]));
  const atEnds = isRate && models.some((model) => model.history.length && model.first_rate === null);
  const when = (epoch, index) => (!isRate ? `epoch ${epoch}` : epoch < models[index].history[0].epoch ? "at first" : `after epoch ${epoch}`);
  const all = series.flat();
  if (!all.length) return null;
  const [width, height, left, bottom] = [320, 170, 46, 22];
  const xs = all.map(([x]) => x);
  const ys = all.map(([, y]) => y);
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  const floor = field === "loss" ? Math.min(...ys) : 0;
  const room = (Math.max(...ys) - floor) * 0.06 || 1e-9;
  const [low, high] = [Math.max(0, floor - room), Math.max(...ys) + room];
  const x = (value) => left + 8 + ((width - left - 20) * (last > first ? (value - first) / (last - first) : 0.5));
  const y = (value) => height - bottom - ((height - bottom - 8) * (value - low)) / (high - low || 1);
  const parts = [];
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });
  for (const tick of ticks(low, high)) {
    parts.push(svg("line", { class: "axis", x1: left, x2: width, y1: y(tick), y2: y(tick) }));
    parts.push(svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, compact.format(tick)));
  }
  const every = Math.ceil((last - first + 1) / 8);
  for (let epoch = first; epoch <= last; epoch += every) parts.push(svg("text", { x: x(epoch), y: height - 5, "text-anchor": "middle" }, String(epoch)));
  series.forEach((points, index) => {
    const group = svg("g", { class: index ? "second" : "first" });
    if (points.length > 1) group.append(svg("path", { d: `M${points.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("L")}` }));
    if (points.length <= 60) {
      for (const [a, b] of points) {
        const tip = svg("title", {}, `${models.length > 1 ? `${models[index].name}, ` : ""}${when(a, index)}: ${text(b)}`);
        group.append(index ? svg("rect", { x: x(a) - 3.5, y: y(b) - 3.5, width: 7, height: 7 }, tip) : svg("circle", { cx: x(a), cy: y(b), r: 4 }, tip));
      }
    }
    parts.push(group);
  });
  const spans = series.map((points, index) => (points.length ? points.map(([a, b]) => `${when(a, index)}: ${text(b)}`).join(", ") : "none"));
  const label = `${title} by epoch. ${spans.map((span, index) => (models.length > 1 ? `${models[index].name}: ${span}` : span)).join(". ")}`;
  const caption = series.map((points, index) => points.length && el(
    "span", {}, el("span", { class: index ? "swatch second" : "swatch", "aria-hidden": "true" }),
    points.length > 1 ? `${text(points[0][1])} \u2192 ${text(points.at(-1)[1])}` : text(points[0][1]), index < series.length - 1 ? "\u2003" : "",
  )).filter(Boolean);
  return el("figure", {}, el("h3", {}, title), svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts), el("figcaption", {}, caption, el("span", {}, atEnds ? "\u2003at the end of each epoch" : "\u2003by epoch")));
}

function showTraining() {
  const { models } = about;
  const names = [...new Set(models.flatMap(({ settings }) => settings.map(([name]) => name)))];
  const plots = models.some((model) => model.history.length) ? PLOTS.map((one) => plot(one, models)).filter(Boolean) : [];
  $("plots").replaceChildren(...plots);
  $("training").hidden = !plots.length && !names.length;
  $("settings").replaceChildren(...(names.length ? settingTables(names, models) : []));
}

// Settings in which two models differ beside each other; the others, or those of one model, in as many columns as fit.
// The size of the matrix is among them: it is in no configuration, and decides as much as any.
function settingTables(known, models) {
  const values = models.map(({ settings, words, dimensions }) => new Map([["words", number.format(words)], ["dimensions", number.format(dimensions)], ...settings]));
  const names = [...new Set(["words", "dimensions", ...known])];
  const differs = (name) => values.some((one) => one.get(name) !== values[0].get(name));
  const row = (name, texts) => el(
    "tr", { role: "row" }, el("th", { scope: "row", role: "rowheader" }, name.replaceAll("_", " ")),
    texts.map((text) => el("td", { role: "cell" }, text ?? "\u2013")),
  );
  const table = (title, kind, head, rows) => el(
    "table", { class: kind, role: "table" }, el("caption", {}, title), head,
    el("tbody", { role: "rowgroup" }, rows),
  );
  const [unlike, alike] = [names.filter(differs), names.filter((name) => !differs(name))];
  const head = () => el("thead", {}, el("tr", {}, el("td"), models.map(({ name }, index) => el("th", { scope: "col", class: index ? "second" : null }, el("span", { class: "swatch", "aria-hidden": "true" }), name))));
  const tables = [];
  if (unlike.length) tables.push(table(`${unlike.length} setting${unlike.length > 1 ? "s differ" : " differs"}`, "beside", head(), unlike.map((name) => row(name, values.map((one) => one.get(name))))));
  if (alike.length) tables.push(table(models.length > 1 ? `${alike.length} are the same` : "Settings", "alone", null, alike.map((name) => row(name, [values[0].get(name)]))));
  return tables;
}

// --- the whole

const map = new WordMap($("map"));

function choice(name, legend, options, change) {
  const fields = options.map(([value, text, swatch]) => {
    const input = el("input", { type: "radio", name, value });
    input.addEventListener("change", () => change(value));
    return el("label", {}, input, swatch === undefined ? null : el("span", { class: swatch ? "swatch second" : "swatch", "aria-hidden": "true" }), el("span", { class: "name", title: text }, text));
  });
  return el("fieldset", { class: "choice" }, el("legend", { class: "unseen" }, legend), fields);
}

function setUp() {
  const { models, projections } = about;
  $("main").classList.toggle("two", models.length > 1);
  $("models").replaceChildren(...models.map(({ name, words, dimensions }, index) => el(
    "li", { class: index ? "second" : "first" }, el("span", { class: "swatch", "aria-hidden": "true" }), el("b", {}, name),
    el("span", { class: "muted" }, `  ${number.format(words)} words \u00d7 ${number.format(dimensions)}`),
  )));
  const choices = [];
  if (models.length > 1) choices.push(choice("m", "Model", models.map(({ name }, index) => [String(index), name, index]), (m) => go({ m }, true)));
  if (projections.length > 1) choices.push(choice("map", "Projection", projections.map((kind) => [kind, kind.toUpperCase()]), (kind) => go({ map: kind }, true)));
  $("map-choices").replaceChildren(...choices);
  const { examples, analogy } = models[0];
  $("start").replaceChildren(el("p", { class: "muted small" }, "Some words to begin with"), el("ul", {}, examples.map((word) => el("li", {}, el("a", { href: addressOf({ q: word }) }, wordElement(word))))));
  ["man", "king", "woman"].forEach((word, index) => { $("abc"[index]).placeholder = analogy.length === 3 ? word : ["A", "B", "C"][index]; });
  showTraining();
}

function refresh(always = false) {
  const before = state;
  state = readAddress();
  const changed = (...names) => always || names.some((name) => state[name] !== before[name]);
  if (![...$("topn").options].some((option) => option.value === state.n)) state.n = DEFAULTS.n;
  if (!["0", "1"].includes(state.m) || Number(state.m) >= about.models.length) state.m = "0";
  $("topn").value = state.n;
  const kind = about.projections.includes(state.map) ? state.map : about.start;
  for (const [name, value] of [["m", state.m], ["map", kind]]) {
    for (const input of document.querySelectorAll(`input[name="${name}"]`)) input.checked = input.value === value;
  }
  if (changed("map", "m")) map.load(kind, Number(state.m));
  const asked = { near: changed("q", "n"), analogy: changed("a", "b", "c", "mul") };
  if (asked.near || asked.analogy) map.topic = state.q && (asked.near || !state.a) ? "near" : "analogy";
  if (asked.analogy) showAnalogy();
  if (asked.near) showNeighbours();
}

function listen() {
  const search = () => go({ q: $("search").value.trim() });
  const answer = () => {
    const typed = Object.fromEntries(["a", "b", "c"].map((name) => [name, $(name).value.trim()]));
    if (!typed.a && !typed.b && !typed.c) for (const name of ["a", "b", "c"]) if ($(name).placeholder.length > 1) typed[name] = $(name).placeholder;
    go({ ...typed, mul: $("mul").checked ? "1" : "" });
  };
  const combo = new Combo($("search"), { several: true, submit: (alone) => alone && search() });
  const parts = ["a", "b", "c"].map((name, index) => new Combo($(name), { several: false, submit: () => (index < 2 ? $("abc"[index + 1]).focus() : answer()) }));
  const submit = (form, act, ...fields) => form.addEventListener("submit", (event) => {
    event.preventDefault();
    fields.forEach((field) => field.close());
    act();
  });
  submit($("search-form"), search, combo);
  submit($("analogy-form"), answer, ...parts);
  $("mul").addEventListener("change", () => state.a && answer());
  $("topn").addEventListener("change", () => go({ n: $("topn").value }, true));
  $("find").addEventListener("click", () => map.find());
  $("zoom-in").addEventListener("click", () => map.zoom(1.8, undefined, undefined, true));
  $("zoom-out").addEventListener("click", () => map.zoom(1 / 1.8, undefined, undefined, true));
  $("zoom-fit").addEventListener("click", () => map.fit());
  walkByArrows($("near"));
  walkByArrows($("analogy"));
  window.addEventListener("hashchange", () => refresh());
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input[type=text], select");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    $("search").focus();
    $("search").select();
  });
}

async function begin() {
  about = await ask("about", {});
  setUp();
  listen();
  refresh(true);
  document.documentElement.dataset.ready = "yes"; // for whoever drives this page by a program
}

begin();
window.mumonMap = map; // the same
