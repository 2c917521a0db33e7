// Index expressions as C has them: whole numbers of 32 bits, names, + - * / % & | ^ ~ << >> and parentheses.
// `compile` reads one and returns a function of the names' values; both throw a Wrong that says where.

export class Wrong extends Error {
  constructor(key, at, what = "") {
    super(`${key} at ${at}: ${what}`);
    Object.assign(this, { key, at, what });
  }
}

const LEVELS = [["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]]; // what binds tighter comes later
const DEEPEST = 64;

const COMPUTE = {
  "|": (a, b) => a | b, "^": (a, b) => a ^ b, "&": (a, b) => a & b, "<<": (a, b) => a << b, ">>": (a, b) => a >> b,
  "+": (a, b) => (a + b) | 0, "-": (a, b) => (a - b) | 0, "*": Math.imul,
  "/": (a, b) => (a / b) | 0, "%": (a, b) => a % b | 0,
}; // prettier-ignore

function split(text) {
  const tokens = [], pattern = /\s*(?:(0[xX][0-9a-fA-F]+|0|[1-9]\d*)(?![\w.])|([A-Za-z_]\w*(?:\.[xyz]\b)?)|(<<|>>|-(?!-)|\+(?!\+)|[*/%&|^~()]))/y;
  while (text.slice(pattern.lastIndex).trim()) {
    const at = pattern.lastIndex, match = pattern.exec(text);
    if (!match) {
      const from = at + text.slice(at).search(/\S/);
      throw new Wrong("unknown", from + 1, /^[\w.]+|^./u.exec(text.slice(from))[0]);
    }
    tokens.push({ at: pattern.lastIndex - match[0].trimStart().length + 1, number: match[1], name: match[2], sign: match[3] });
  }
  return [...tokens, { at: text.length + 1 }];
}

export function compile(text, names) {
  const tokens = split(text);
  let next = 0;

  function operand(depth) {
    const token = tokens[next++];
    if (depth > DEEPEST) throw new Wrong("deep", token.at);
    if (token.number !== undefined) {
      const value = Number(token.number);
      if (value > 0x7fffffff) throw new Wrong("large", token.at, token.number);
      return () => value;
    }
    if (token.name) {
      if (!names.includes(token.name)) throw new Wrong("name", token.at, token.name);
      return (values) => values[token.name];
    }
    if (token.sign === "(") {
      const inner = level(0, depth + 1);
      if (tokens[next++].sign !== ")") throw new Wrong("open", token.at);
      return inner;
    }
    if (["-", "+", "~"].includes(token.sign)) {
      const inner = operand(depth + 1);
      return { "-": (values) => -inner(values) | 0, "+": inner, "~": (values) => ~inner(values) }[token.sign];
    }
    throw new Wrong("operand", token.at, token.sign ?? "");
  }

  function level(i, depth) {
    if (i === LEVELS.length) return operand(depth);
    let left = level(i + 1, depth);
    while (LEVELS[i].includes(tokens[next].sign)) {
      const { sign, at } = tokens[next++], a = left, b = level(i + 1, depth), shift = LEVELS[3].includes(sign);
      left = (values) => {
        const one = a(values), other = b(values);
        if (other === 0 && (sign === "/" || sign === "%")) throw new Wrong("zero", at, sign);
        if (shift && (other < 0 || other > 31)) throw new Wrong("shift", at, String(other));
        return COMPUTE[sign](one, other);
      };
    }
    return left;
  }

  const made = level(0, 0);
  if (next < tokens.length - 1) throw new Wrong("more", tokens[next].at, tokens[next].sign ?? tokens[next].name ?? tokens[next].number);
  return made;
}
