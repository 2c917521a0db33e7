// The workbench in a page, under `make serve` only (warpbook/site/workbench.py answers): an editor with Run and Judge in each
// exercise, and Edit and run at each listing of a kernel that a program of the book uses. Without it an exercise is whole, too:
// task, stub, commands, hints, solution.
const BASE = new URL("./", import.meta.url).pathname;
const ZH = document.documentElement.lang.startsWith("zh"), LANGUAGE = ZH ? "zh" : "en";
const PAGE = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random().toString(36).slice(2)}`;
const SAYS = ZH ? {
  write: "在这里作答", judge: "判题", run: "运行", stop: "停止", reset: "恢复模板", again: "再按一次：放弃现有代码", close: "关闭", edit: "编辑并运行", undo: "恢复原文",
  editor: (file) => `${file} 的编辑器`, keys: "Escape 离开编辑器，Ctrl+Enter 判题，Tab 缩进。", keysRun: "Escape 离开编辑器，Ctrl+Enter 运行，Tab 缩进。",
  judging: "正在判题……", running: "正在运行……", saved: (path) => `已保存到 ${path}`, unsaved: "尚未保存", draft: "有未保存的草稿，已从浏览器中取回",
  program: "要运行的程序", line: (n) => `第 ${n} 行`, section: "相关章节", printed: "核函数的输出", output: (file) => `${file} 的输出`, lines: "逐行计数", outputs: "输出数组", seconds: (s) => `${s.toFixed(1)} 秒`,
  columns: ["行", "源代码", "扇区/请求", "bank 冲突", "加载", "存储", "指令", "活跃 lane"], got: "得到", expected: "应为", element: "下标", nothing: "没有输出。",
  kinds: { right: "正确", wrong: "错误", slow: "太慢", compile: "编译错误", endless: "不结束", stopped: "已停止", failed: "失败", done: "完成" },
  done: "已完成", theirs: "取用文件中的版本", mine: "保留这里的版本", locked: (n) => `先看提示 ${n}`, sure: "真的要看答案吗？先自己试一试，收获更大。", yes: "显示答案", no: "再想想",
  gone: "服务器没有回答：`make serve` 还在运行吗？", counter: (s, c) => `每次请求 ${s} 个扇区${c ? `，${c} 次 bank 冲突` : ""}`, legend: "行右侧的数字：每次请求的扇区数。", saving: "正在保存……",
} : {
  write: "Write your answer here", judge: "Judge", run: "Run", stop: "Stop", reset: "Reset", again: "Press again to drop your code", close: "Close", edit: "Edit and run", undo: "Reset",
  editor: (file) => `Editor of ${file}`, keys: "Escape leaves the editor, Ctrl+Enter judges, Tab indents.", keysRun: "Escape leaves the editor, Ctrl+Enter runs, Tab indents.",
  judging: "Judging…", running: "Running…", saved: (path) => `Saved in ${path}`, unsaved: "Not saved yet", draft: "Your unsaved draft was taken back from the browser",
  program: "The program to run", line: (n) => `line ${n}`, section: "Read the section", printed: "Printed by the kernel", output: (file) => `Output of ${file}`, lines: "Line by line", outputs: "Output arrays", seconds: (s) => `${s.toFixed(1)} s`,
  columns: ["line", "source", "sectors each", "bank conflicts", "loads", "stores", "instructions", "active lanes"], got: "got", expected: "expected", element: "element", nothing: "It printed nothing.",
  kinds: { right: "right", wrong: "wrong", slow: "slow", compile: "error", endless: "endless", stopped: "stopped", failed: "failed", done: "done" },
  done: "Done", theirs: "Take the file's version", mine: "Keep what is here", locked: (n) => `Open hint ${n} first`, sure: "Show the solution? You learn more if you try first.", yes: "Show it", no: "Not yet",
  gone: "The server does not answer: does `make serve` still run?", counter: (s, c) => `${s} sectors per request${c ? `, ${c} bank conflicts` : ""}`, legend: "The number at a line's right end is sectors per request.", saving: "Saving…",
};

// -- the server -----------------------------------------------------------------------------------------------------------------

const session = fetch(`${BASE}session?${LANGUAGE}`).then((answer) => (answer.ok ? answer.json() : null), () => null);

class Problem extends Error {
  constructor(what, status) { super(what.error); Object.assign(this, { what, status }); }
}

async function ask(name, job = {}, options = {}) {
  key ||= (await session)?.key ?? "";
  const body = JSON.stringify({ page: PAGE, language: LANGUAGE, ...job });
  const answer = await fetch(BASE + name, { method: "POST", headers: { "Content-Type": "application/json", "X-Warpbook-Key": key }, body, ...options })
    .catch(() => { throw new Problem({ error: SAYS.gone }, 0); });
  const what = await answer.json();
  if (!answer.ok) throw new Problem(what, answer.status);
  return what;
}

const leaving = [() => ask("stop", {}, { keepalive: true }).catch(() => {})]; // to do when the page is left
let key = ""; // of this start of the server
let editing; // the editor's module, once somebody edits
const editorModule = () => (editing ??= import(`${BASE}editor.js`));

// -- pieces ---------------------------------------------------------------------------------------------------------------------

function element(name, attributes = {}, ...inside) {
  const one = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) one.addEventListener(key.slice(2), value);
    else if (key in one && key !== "role") one[key] = value;
    else one.setAttribute(key, value);
  }
  one.append(...inside);
  return one;
}

const button = (text, press, kind = "") => element("button", { type: "button", className: `wb-bench__button ${kind}`, onclick: press }, text);

// A text of ours with `code` in it, as the judge writes its sentences.
const coded = (text) => text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));

function remember(name, value) {
  try {
    if (value === null) localStorage.removeItem(`warpbook.${name}`);
    else localStorage.setItem(`warpbook.${name}`, value);
  } catch { /* private window */ }
}

function remembered(name) {
  try { return localStorage.getItem(`warpbook.${name}`); } catch { return null; }
}

let count = 0;

// An editor with buttons, a status that is read out, and what was found: what exercises and listings share.
class Bench {
  constructor({ file, keys, main, buttons }) {
    const id = `wb-bench-${++count}`;
    this.file = file;
    this.place = element("div", { className: "wb-bench__editor" });
    this.note = element("span", { className: "wb-bench__saved" });
    this.hint = element("p", { className: "wb-bench__keys", id: `${id}-keys` }, keys);
    this.status = element("div", { className: "wb-bench__status", role: "status" });
    this.found = element("div", { className: "wb-bench__found" });
    this.stopper = button(SAYS.stop, () => this.stop(), "wb-bench__button--stop");
    this.stopper.disabled = true;
    this.main = main;
    this.bar = element("div", { className: "wb-bench__bar" }, main, ...buttons.slice(0, -1), this.stopper, buttons.at(-1));
    this.starters = [main, ...buttons];
    this.root = element("section", { className: "wb-bench", ariaLabel: SAYS.editor(file) },
      element("div", { className: "wb-bench__head" }, element("span", {}, file), this.note), this.place, this.bar, this.hint, this.status, this.found);
  }

  async open(text, { change, submit, language }) {
    const { open } = await editorModule();
    this.editor = open(this.place, { text, language, label: SAYS.editor(this.file), hint: this.hint.id, change, submit, leave: () => this.main.focus() });
    this.editor.focus();
  }

  // Carry out a job: one at a time; its seconds are shown while it is at work.
  async work(doing, job) {
    if (this.working) return null;
    this.working = true;
    const start = performance.now(), tick = () => (this.clock.textContent = SAYS.seconds((performance.now() - start) / 1000));
    this.clock = element("span", { ariaHidden: "true", className: "wb-bench__clock" });
    this.say(doing, this.clock);
    this.found.replaceChildren();
    this.root.ariaBusy = "true";
    const held = document.activeElement;
    for (const one of this.starters) one.disabled = true;
    this.stopper.disabled = false;
    if (this.starters.includes(held)) this.stopper.focus(); // a disabled button loses the focus
    const timer = setInterval(tick, 100);
    try {
      return await job();
    } catch (error) {
      this.say(...coded(error.message));
      return null;
    } finally {
      clearInterval(timer);
      const back = document.activeElement === this.stopper;
      for (const one of this.starters) one.disabled = false;
      this.stopper.disabled = true;
      if (back) (this.starters.includes(held) ? held : this.main).focus();
      this.working = false;
      this.root.ariaBusy = "false";
    }
  }

  say(...what) { this.status.replaceChildren(...what); }

  async stop() {
    await ask("stop").catch((error) => this.say(...coded(error.message)));
  }

  // Messages go to their lines, and into a list; the status says how it ended.
  show(given, { lines = [], outputs = [], printed, printedName, done = false }) {
    const source = this.editor.text().split("\n");
    const brief = ({ line, text }) => text.replace(new RegExp(`^(line ${line}: |第 ${line} 行：)`), ""); // it stands at its line
    const verdict = { ...given, messages: given.messages.map((one) => ({ ...one, text: brief(one) })) };
    const list = verdict.messages.map((one) => {
      const item = element("li", { className: `wb-bench__message wb-bench__message--${one.kind}` }, element("b", {}, SAYS.kinds[one.kind] ?? one.kind), " ");
      if (one.line) item.append(button(SAYS.line(one.line), () => this.editor.go(one.line), "wb-bench__button--line"), " ");
      item.append(element("span", {}, ...coded(one.text)));
      if (one.link && one.kind !== "right") item.append(" ", element("a", { href: one.link }, SAYS.section));
      return item;
    });
    this.say(element("b", { className: `wb-bench__word wb-bench__word--${verdict.verdict}` }, SAYS.kinds[verdict.verdict] ?? verdict.verdict),
      element("span", { className: "wb-bench__clock" }, SAYS.seconds(verdict.seconds)), ...(list.length ? [element("ul", {}, ...list)] : []));
    const counted = lines.filter((one) => one.sectors_per_request || one.conflicts);
    this.editor.show({
      messages: verdict.messages.filter((one) => one.line).map((one) => ({ ...one, text: one.text.replaceAll("`", ""), word: SAYS.kinds[one.kind] ?? one.kind })),
      counters: counted.map((one) => ({ line: one.line, text: (one.sectors_per_request || 0).toFixed(1), title: SAYS.counter((one.sectors_per_request || 0).toFixed(1), one.conflicts) })),
    });
    const parts = [];
    if (printed || printedName) parts.push(element("details", { open: true }, element("summary", {}, printedName ?? SAYS.printed), element("pre", { tabIndex: 0 }, printed || SAYS.nothing)));
    if (outputs.length) parts.push(element("details", { open: true }, element("summary", {}, SAYS.outputs), ...outputs.map(array)));
    if (lines.length) parts.push(element("details", {}, element("summary", {}, SAYS.lines), counters(lines, source), ...(counted.length ? [element("p", {}, SAYS.legend)] : [])));
    this.found.replaceChildren(...parts);
    this.root.classList.toggle("wb-bench--right", done);
  }
}

function table(head, rows) {
  const line = (kind, cells) => element("tr", {}, ...cells.map((one) => element(kind, {}, one)));
  return element("div", { className: "wb-bench__scroll", tabIndex: 0, role: "group", ariaLabel: head.join(", ") },
    element("table", { className: `wb-bench__table${head.length > 3 ? " wb-bench__table--lines" : ""}` }, element("thead", {}, line("th", head)), element("tbody", {}, ...rows.map((one) => line("td", one)))));
}

function counters(lines, source) {
  const number = (n) => (n ? n.toLocaleString("en") : "");
  return table(SAYS.columns, lines.map((one) => [String(one.line), element("code", {}, (source[one.line - 1] ?? "").trim()),
    one.sectors_per_request ? one.sectors_per_request.toFixed(1) : "", number(one.conflicts), number(one.loads), number(one.stores), number(one.instructions), one.lanes ? one.lanes.toFixed(1) : ""]));
}

function array({ name, got, expected }) {
  const rows = got.map((one, i) => [`${name}[${i}]`, String(one), String(expected[i] ?? "")]);
  return table([SAYS.element, SAYS.got, SAYS.expected], rows.slice(0, 64));
}

// A button that asks once: pressed a second time it acts; left alone it is what it was.
function twice(text, act) {
  const one = button(text, () => {
    if (one.dataset.sure) { calm(); act(); } else { one.dataset.sure = "1"; one.textContent = SAYS.again; }
  });
  const calm = () => { delete one.dataset.sure; one.textContent = text; };
  one.addEventListener("blur", calm);
  return one;
}

// -- exercises ------------------------------------------------------------------------------------------------------------------

function exercise(box, about) {
  const name = box.dataset.exercise;
  const listing = box.querySelector(".highlight:has(> .filename)");
  const heading = box.querySelector("h3"), badge = element("span", { className: "wb-exercise__done" }, SAYS.done);
  badge.hidden = !(about.done[name] ?? (remembered(`done:${name}`) !== null));
  heading.insertBefore(badge, heading.querySelector(".headerlink"));
  hints(box);
  const start = button(SAYS.write, () => begin(), "wb-bench__button--main");
  const row = element("div", { className: "wb-bench__bar wb-bench__bar--start" }, start);
  listing.after(row);
  if (!about.ready) {
    start.disabled = true;
    row.append(element("p", { className: "wb-bench__keys" }, ...coded(about.why)));
  }

  async function begin() {
    start.disabled = true;
    let kept;
    try {
      [kept] = await Promise.all([ask("open", { exercise: name }), editorModule()]);
    } catch (error) {
      start.disabled = false;
      row.replaceChildren(start, element("p", { className: "wb-bench__keys", role: "alert" }, ...coded(error.message)));
      return;
    }
    const draft = remembered(`draft:${name}`);
    let seen = kept.seen, saving = Promise.resolve(), timer;
    const judge = button(SAYS.judge, () => work("judge"), "wb-bench__button--main"), run = button(SAYS.run, () => work("run"));
    const reset = twice(SAYS.reset, () => { bench.editor.replace(kept.stub); bench.say(); bench.found.replaceChildren(); bench.editor.focus(); });
    const bench = new Bench({ file: kept.path, keys: SAYS.keys, main: judge, buttons: [run, reset] });
    row.replaceWith(bench.root);
    listing.hidden = true;
    const change = () => {
      bench.note.textContent = SAYS.unsaved;
      remember(`draft:${name}`, bench.editor.text());
      clearTimeout(timer);
      timer = setTimeout(save, 800);
    };
    await bench.open(draft ?? kept.source, { change, submit: () => work("judge"), language: kept.language });
    if (draft !== null && draft !== kept.source) bench.note.textContent = SAYS.draft;
    else remember(`draft:${name}`, null);

    leaving.push(() => {
      if (remembered(`draft:${name}`) !== null) ask("save", { exercise: name, source: bench.editor.text(), seen }, { keepalive: true }).catch(() => {});
    });

    // The answer goes to its file in my/; one that was changed elsewhere is not written over before the reader has chosen.
    function save() {
      clearTimeout(timer);
      saving = saving.then(async () => {
        const source = bench.editor.text();
        try {
          ({ seen } = await ask("save", { exercise: name, source, seen }));
          if (bench.editor.text() === source) {
            bench.note.textContent = SAYS.saved(kept.path);
            remember(`draft:${name}`, null);
          }
          return true;
        } catch (error) {
          bench.note.textContent = SAYS.unsaved;
          bench.say(...coded(error.message), ...(error.what?.seen === undefined ? [] : choices(error.what)));
          return false;
        }
      });
      return saving;
    }

    const choices = (theirs) => [" ",
      button(SAYS.theirs, () => { seen = theirs.seen; bench.editor.replace(theirs.source ?? kept.stub); bench.say(); save(); bench.editor.focus(); }), " ",
      button(SAYS.mine, () => { seen = theirs.seen; bench.say(); save(); bench.editor.focus(); })];

    async function work(how) {
      const verdict = await bench.work(how === "run" ? SAYS.running : SAYS.judging, async () => (await save()) ? ask(how, { exercise: name, source: bench.editor.text() }) : null);
      if (!verdict) return;
      const done = how === "judge" && verdict.verdict === "right";
      bench.show(verdict, { ...verdict, done });
      if (!done) return;
      badge.hidden = false;
      remember(`done:${name}`, new Date().toISOString().slice(0, 10));
    }
  }
}

// Hints open one by one, and the solution last: it asks once.
function hints(box) {
  const all = [...box.querySelectorAll("details.question")], solution = box.querySelector("details.success");
  all.forEach((one, i) => {
    one.hidden = i > 0;
    one.addEventListener("toggle", () => one.open && ((all[i + 1] ?? solution).hidden = false));
  });
  if (!solution) return;
  solution.hidden = all.length > 0;
  const question = element("div", { className: "wb-exercise__sure" }, element("p", {}, SAYS.sure), button(SAYS.yes, () => {
    inside.forEach((one) => (one.hidden = false));
    question.remove();
    solution.querySelector("summary").focus();
  }), " ", button(SAYS.no, () => { solution.open = false; solution.querySelector("summary").focus(); }));
  const inside = [...solution.children].filter((one) => one.tagName !== "SUMMARY");
  inside.forEach((one) => (one.hidden = true));
  solution.append(question);
}

// -- listings -------------------------------------------------------------------------------------------------------------------

// The program, the file and the first line of a listing of snippets/: an article's links to its program's page, which has it whole.
function used(listing) {
  const head = listing.querySelector(":scope > .filename"), link = head?.querySelector("a");
  const at = /snippets\/([\w-]+)\/([\w-]+)\/(?:#(?:.*)-L(\d+))?$/.exec(link ? link.href : location.origin + location.pathname);
  const file = /snippets\/[\w-]+\/[\w.-]+\.cu/.exec(head?.textContent ?? "");
  return at && file && { head, program: `${at[1]}/${at[2]}`, file: file[0], line: Number(at[3] ?? 1) };
}

function editable(listing) {
  const about = used(listing);
  if (!about) return;
  const { head, program, file, line } = about;
  const start = button(SAYS.edit, () => begin(), "wb-bench__button--edit");
  start.ariaLabel = `${SAYS.edit}: ${file}`;
  head.append(start);

  async function begin() {
    start.disabled = true;
    let whole;
    try {
      [whole] = await Promise.all([ask("source", { program, file }), editorModule()]);
    } catch (error) {
      start.disabled = false;
      start.textContent = error.message;
      return;
    }
    const run = button(SAYS.run, () => work(), "wb-bench__button--main");
    const which = element("select", { className: "wb-bench__button", ariaLabel: SAYS.program }, ...whole.programs.map((one) => element("option", { value: one }, `snippets/${one}.py`)));
    which.value = program;
    const close = button(SAYS.close, () => { bench.stop(); bench.editor.end(); bench.root.remove(); start.disabled = false; start.focus(); });
    const reset = twice(SAYS.undo, () => { bench.editor.replace(whole.source); bench.editor.top(line); bench.say(); bench.found.replaceChildren(); });
    const bench = new Bench({ file, keys: SAYS.keysRun, main: run, buttons: [which, reset, close] });
    listing.after(bench.root);
    await bench.open(whole.source, { change: () => {}, submit: () => work() });
    bench.editor.go(line);
    bench.editor.top(line);
    async function work() {
      const chosen = which.value;
      const result = await bench.work(SAYS.running, () => ask("program", { program: chosen, file, source: bench.editor.text() }));
      if (result) bench.show(result, { printed: result.printed, printedName: SAYS.output(`snippets/${chosen}.py`) });
    }
  }
}

// -- the page -------------------------------------------------------------------------------------------------------------------

const about = await session;
if (about) {
  for (const box of document.querySelectorAll("[data-exercise]")) exercise(box, about);
  if (about.ready) for (const listing of document.querySelectorAll(".highlight.language-cuda")) if (!listing.closest("[data-exercise]")) editable(listing);
  addEventListener("pagehide", () => leaving.forEach((act) => act()));
}
