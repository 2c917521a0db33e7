// The workbench's editor: CodeMirror with the site's colours. esbuild makes one file of it (warpbook/site/workbench.py), which a
// page loads when its reader first wants to edit.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { cpp } from "@codemirror/lang-cpp";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { EditorState, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, drawSelection, gutter, gutterLineClass, highlightActiveLine, keymap, lineNumbers, WidgetType } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const hl = (name) => `var(--md-code-hl-${name}-color)`;
const colours = HighlightStyle.define([
  { tag: tags.comment, color: hl("comment") },
  { tag: [tags.keyword, tags.modifier, tags.controlKeyword, tags.definitionKeyword, tags.typeName, tags.standard(tags.typeName)], color: hl("keyword") },
  { tag: [tags.string, tags.character], color: hl("string") },
  { tag: [tags.number, tags.bool, tags.null], color: hl("number") },
  { tag: [tags.processingInstruction, tags.meta], color: hl("special") },
  { tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName))], color: hl("function") },
]);

// Python, for Triton kernels: what the colours tell apart, and where the next line begins.
const KEYWORDS = new Set("and as assert break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(" "));
const CONSTANTS = new Set(["True", "False", "None"]);
const LEAVES = new Set(["return", "pass", "break", "continue", "raise"]);
const python = StreamLanguage.define({
  name: "python",
  startState: () => ({ quote: "", indent: 0, opens: false, leaves: false, depth: 0 }),
  token(stream, state) {
    if (state.quote) return inString(stream, state);
    if (stream.sol() && !state.depth && stream.match(/^\s*[^\s#]/, false)) [state.indent, state.opens, state.leaves] = [stream.indentation(), false, false];
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    state.opens = stream.peek() === ":";
    const quote = stream.match(/^[rbfu]{0,2}("""|\'\'\'|"|')/i);
    if (quote) {
      state.quote = quote[1];
      return inString(stream, state);
    }
    if (stream.match(/^@[\w.]+/)) return "meta";
    if (stream.match(/^(?:0[xbo][\da-f_]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)/i)) return "number";
    const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u)?.[0];
    if (!word) {
      const one = stream.next();
      state.depth = Math.max(0, state.depth + ("([{".includes(one) ? 1 : ")]}".includes(one) ? -1 : 0));
      return null;
    }
    if (LEAVES.has(word)) state.leaves = true;
    if (KEYWORDS.has(word)) return "keyword";
    if (CONSTANTS.has(word)) return "bool";
    return stream.match(/^\s*\(/, false) ? "variableName.function" : "variableName";
  },
  blankLine: () => {},
  indent: (state, after, context) => {
    if (state.quote) return null;
    if (state.depth) return /^\s*[)\]}]/.test(after) ? state.indent : state.indent + context.unit;
    return Math.max(0, state.indent + (state.opens ? context.unit : state.leaves ? -context.unit : 0));
  },
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{"] } },
});

function inString(stream, state) {
  while (!stream.eol()) {
    if (stream.match(state.quote)) {
      state.quote = "";
      return "string";
    }
    if (stream.next() === "\\") stream.next();
  }
  if (state.quote.length === 1) state.quote = ""; // it does not go on in the next line
  return "string";
}

const MODES = { cuda: cpp, python: () => python };

const look = EditorView.theme({
  "&": { backgroundColor: "var(--md-code-bg-color)", color: "var(--md-code-fg-color)", fontSize: "var(--wb-code-size, .68rem)" },
  "&.cm-focused": { outline: "2px solid var(--md-accent-fg-color)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--md-code-font-family)", lineHeight: "1.55", maxHeight: "32rem" },
  ".cm-content": { padding: ".5rem 0", caretColor: "var(--md-accent-fg-color)" },
  ".cm-line": { padding: "0 .6rem 0 .5rem" },
  ".cm-cursor": { borderLeftColor: "var(--md-accent-fg-color)" },
  ".cm-gutters": { backgroundColor: "var(--md-code-bg-color)", color: "var(--md-default-fg-color--light)", border: "0", fontSize: ".8em", lineHeight: "1.94" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "2.1rem", padding: "0 .45rem 0 .3rem" },
  "&:not(.cm-focused) .cm-activeLine": { backgroundColor: "transparent" },
  ".cm-activeLine": { backgroundColor: "var(--md-accent-fg-color--transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--md-accent-fg-color) 28%, transparent)" },
  ".cm-matchingBracket": { outline: "1px solid var(--md-accent-fg-color)", backgroundColor: "transparent" },
});

// -- what the judge found, at its lines ---------------------------------------------------------------------------------------

const show = StateEffect.define(); // {messages: [{line, kind, word, text}], counters: [{line, text, title}]}

class Sign extends GutterMarker {
  constructor(kind) { super(); this.elementClass = `wb-bench__at wb-bench__at--${kind}`; }
  eq(other) { return other.elementClass === this.elementClass; }
}

class Counter extends GutterMarker {
  constructor({ text, title }) { super(); Object.assign(this, { text, title }); }
  eq(other) { return other.text === this.text && other.title === this.title; }
  toDOM() {
    const one = document.createElement("span");
    [one.textContent, one.title] = [this.text, this.title];
    return one;
  }
}

class Message extends WidgetType {
  constructor({ kind, word, text }) { super(); Object.assign(this, { kind, word, text }); }
  eq(other) { return other.text === this.text && other.kind === this.kind; }
  toDOM() {
    const [place, one, word] = ["div", "div", "b"].map((name) => document.createElement(name));
    place.className = "wb-bench__place"; // with a padding: CodeMirror does not count margins
    place.ariaHidden = "true"; // the list below the editor is what is read out
    one.className = `wb-bench__note wb-bench__note--${this.kind}`;
    word.textContent = this.word;
    one.append(word, " ", this.text);
    place.append(one);
    return place;
  }
}

const nothing = { notes: Decoration.none, signs: RangeSet.empty, counters: RangeSet.empty };
const found = StateField.define({
  create: () => nothing,
  update(now, change) {
    const effect = change.effects.find((one) => one.is(show));
    if (effect) return placed(change.state.doc, effect.value);
    return change.docChanged ? Object.fromEntries(Object.entries(now).map(([name, set]) => [name, set.map(change.changes)])) : now;
  },
  provide: (field) => [EditorView.decorations.from(field, (now) => now.notes), gutterLineClass.from(field, (now) => now.signs)],
});

function placed(doc, { messages, counters }) {
  const there = ({ line }) => line >= 1 && line <= doc.lines;
  const at = ({ line }) => doc.line(line);
  const noted = messages.filter(there);
  return {
    notes: Decoration.set(noted.flatMap((one) => [
      Decoration.line({ class: `wb-bench__line wb-bench__line--${one.kind}` }).range(at(one).from),
      Decoration.widget({ widget: new Message(one), block: true, side: 1 }).range(at(one).to),
    ]), true),
    signs: RangeSet.of(noted.map((one) => new Sign(one.kind).range(at(one).from)), true),
    counters: RangeSet.of(counters.filter(there).map((one) => new Counter(one).range(at(one).from)), true),
  };
}

// -- an editor ----------------------------------------------------------------------------------------------------------------

/** An editor in `parent` for code in `language`. `label` names it, `hint` is the id of what describes it; `leave` is called at Escape, `submit` at Ctrl+Enter. */
export function open(parent, { text, language = "cuda", label, hint, change, submit, leave }) {
  const run = (call) => () => (call(), true);
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(), indentUnit.of("    "),
        MODES[language](), syntaxHighlighting(colours), look, found,
        gutter({ class: "wb-bench__counters", side: "after", markers: (view) => view.state.field(found).counters }),
        keymap.of([{ key: "Escape", run: run(leave) }, { key: "Mod-Enter", run: run(submit) }, indentWithTab, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": hint, tabindex: "0", spellcheck: "false", autocapitalize: "off", translate: "no" }),
        EditorView.updateListener.of((update) => update.docChanged && change()),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    replace: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, effects: show.of({ messages: [], counters: [] }) }),
    show: (what) => view.dispatch({ effects: show.of(what) }),
    focus: () => view.focus(),
    go(line) {
      const { from } = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
      view.focus();
    },
    top(line) {
      view.dispatch({ effects: EditorView.scrollIntoView(view.state.doc.line(Math.min(line, view.state.doc.lines)).from, { y: "start" }) });
    },
    end: () => view.destroy(),
  };
}
