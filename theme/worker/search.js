// The search worker: it stands before Material's, hears the page's messages, and hands on better queries.
// Nothing is fetched until somebody enters the search box, of which theme/partials/script-later.html tells. A query's words are
// looked up among the words of the index: English ones by their stem, Chinese ones cut at the longest known word, misspelt ones
// by what is near.
const [SETUP, READY, QUERY, RESULT] = [0, 1, 2, 3]; // Material's
const ENTERED = "entered"; // ours
const here = self.document?.currentScript?.src ?? self.location.href;
const listen = self.addEventListener.bind(self);
const tell = self.postMessage.bind(self);
let given, index, keys, engine, loading, entered;

self.addEventListener = (type, heard) => type === "message" ? engine = heard : listen(type, heard);

// What is found by its title or its keywords shows its first paragraph, as there is no word of the query to cut around.
self.postMessage = (message) => {
  if (message.type === RESULT) for (const document of message.data.items.flat()) {
    if (!document.text.includes("<mark")) document.text = /<p>.*?<\/p>/s.exec(document.text)?.[0] ?? "";
  }
  tell(message);
};

// The index, once; what could not be fetched is tried again when it is next wanted.
const loaded = () => loading ??= load().catch((error) => {
  loading = undefined;
  throw error;
});

async function load() {
  const fetched = given.docs.length ? given.docs : fetch(new URL("../../../search/documents.json", here))
    .then((answer) => answer.text()).then((text) => JSON.parse(text.replaceAll("\x7f", "\u200b"))); // one byte between words
  const [docs] = await Promise.all([fetched, importScripts(new URL("MATERIAL", here).href)]);
  const { build } = lunr.Builder.prototype;
  lunr.Builder.prototype.build = function () { return index = build.call(this); };
  await engine({ data: { type: SETUP, data: { ...given, docs } } });
  keys = Object.keys(index.invertedIndex).sort();
}

listen("message", async ({ data: message }) => {
  if (message.type === SETUP) {
    given = message.data;
    postMessage({ type: READY });
    if (entered) await loaded();
  } else if (message.type === ENTERED) {
    entered = true;
    if (given) await loaded();
  } else if (message.type === QUERY && !message.data.trim()) {
    postMessage({ type: RESULT, data: { items: [] } });
  } else if (message.type === QUERY) {
    await loaded();
    engine({ data: { type: QUERY, data: rewritten(message.data) } });
  }
});

const STOP = new Set(["的", "了", "是", "在", "和", "与", "怎么", "怎样", "如何", "什么", "为什么", "为何", "吗", "呢", "我"]);

function rewritten(query) {
  if (/"|(^|\s)[+-]\S/.test(query)) return query; // lunr's own signs: +must -not "both of these"
  const words = query.toLowerCase().split(new RegExp(given.config.separator))
    .flatMap((part) => part?.match(/\p{sc=Han}+|[^\p{sc=Han}:]+/gu) ?? [])
    .flatMap((part) => /\p{sc=Han}/u.test(part) ? cut(part) : [part]);
  const meant = words.filter((word, i) => i === words.length - 1 && words.length === 1 || !STOP.has(word) && lunr.stopWordFilter(word));
  return (meant.length ? meant : words).map(clauses).join(" ");
}

// The longest known word first; what is known of nothing stays together.
function cut(run) {
  const out = [];
  for (let i = 0, unknown = true; i < run.length;) {
    let j = run.length;
    while (j > i && !known(run.slice(i, j))) j--;
    if (j > i) out.push(run.slice(i, j));
    else if (unknown || !out.length) out.push(run[i]);
    else out[out.length - 1] += run[i];
    unknown = j > i;
    i = Math.max(j, i + 1);
  }
  return out;
}

const known = (word) => word in index.invertedIndex;

function begins(stem) { // whether a word of the index begins so
  let low = 0, high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keys[middle] < stem) low = middle + 1; else high = middle;
  }
  return keys[low]?.startsWith(stem);
}

// One word as lunr's clauses: itself, and what begins as it does.
function clauses(word) {
  if (/\p{sc=Han}/u.test(word)) {
    // Material's own cutting of Han text leaves out a query's last character: a last one that no word has is spared.
    return known(word) ? `${word}〇^4 ${word}〇` : word;
  }
  if (word.length === 1 && known(word)) return `${word}^1`; // what begins with one letter is half of the index
  const stem = stemmed(word);
  if (begins(stem)) return stem === word && known(word) ? `${word}^4 ${word}` : stem;
  if (word.length > 3 && keys.some((key) => key.includes(word))) return `*${word}`;
  return word.length > 4 ? `${word}~${word.length > 7 ? 2 : 1}` : word;
}

// What a word has in common with its stem: coalesc of coalescing, memor of memory.
function stemmed(word) {
  if (!/^[a-z]{4,}$/.test(word)) return word;
  const stem = lunr.stemmer(new lunr.Token(word)).toString();
  let same = 0;
  while (same < stem.length && stem[same] === word[same]) same++;
  return same > 2 ? word.slice(0, same) : word;
}
