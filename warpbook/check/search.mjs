// Ask the built site's own search worker, outside a browser: `node search.mjs SITE_DIR QUERIES`. QUERIES is a JSON list; prints the
// pages found for each, best first, as the search dialog lists them.
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { dirname, join } from "node:path";
import vm from "node:vm";

const [site, queries] = process.argv.slice(2);
const workers = join(site, "assets/javascripts/workers");
const config = JSON.parse(readFileSync(join(site, "search/search_index.json"), "utf8"));
const heard = [], answers = [];

const self = {
  console, URL, setTimeout,
  location: { href: pathToFileURL(join(workers, "search.js")).href },
  addEventListener: (type, listener) => heard.push(listener),
  postMessage: (message) => answers.push(message),
  fetch: async (url) => ({ text: async () => readFileSync(fileURLToPath(url), "utf8") }),
  importScripts: (url) => vm.runInContext(readFileSync(fileURLToPath(url), "utf8"), context),
};
self.self = self;
const context = vm.createContext(self);
self.importScripts(self.location.href);
const tell = (type, data) => Promise.all(heard.map((listener) => listener({ data: { type, data } })));

await tell(0, { ...config, options: { suggest: true } });
const found = [];
for (const query of JSON.parse(queries)) {
  answers.length = 0;
  await tell(2, query);
  await new Promise((done) => setTimeout(done)); // Material's answer is a promise's
  found.push(answers.findLast(({ type }) => type === 3).data.items.map((items) => items[0].location.split("#")[0]));
}
console.log(JSON.stringify(found));
