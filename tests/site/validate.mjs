// Hold built pages against the HTML standard: `node validate.mjs NODE_MODULES SITE_DIR`. Prints one JSON list of what is wrong.
// What generators write by the ten thousand (coloured code, formulas, drawings) is looked at on one page, and thinned out on
// the others, for it is most of their weight.
import { createRequire } from "node:module";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

const [modules, site] = process.argv.slice(2);
const { HtmlValidate, StaticConfigLoader } = createRequire(modules + "/")("html-validate");
const validator = new HtmlValidate(new StaticConfigLoader({ root: true, extends: ["html-validate:standard"] }));
const WHOLE = /^(zh\/)?(softcuda|profile-your-kernel|errata)\/index\.html$/;

const drawing = /<svg\b[^>]*>(?:(?!<svg\b)[^])*?<\/svg>/g; // with none within it
const undrawn = (page) => page.search(drawing) < 0 ? page : undrawn(page.replace(drawing, ""));
const thin = (page) => undrawn(page)
  .replace(/(<pre\b[^>]*>)([^]*?)(<\/pre>)/g, (_, begin, code, end) => begin + code.replace(/<\/?span[^>]*>/g, "") + end)
  .replace(/<math\b[^]*?<\/math>/g, "");

const problems = [];
for (const path of readdirSync(site, { recursive: true }).filter((path) => path.endsWith(".html"))) {
  const page = readFileSync(join(site, path), "utf8");
  const { results } = await validator.validateString(WHOLE.test(path) ? page : thin(page), path);
  for (const { messages, source } of results)
    for (const { ruleId, message, line, column } of messages) {
      const where = source.split("\n")[line - 1].slice(Math.max(0, column - 20), column + 60);
      problems.push({ page: relative(".", path), scheme: ruleId, what: `${message}: …${where}…` });
    }
}
console.log(JSON.stringify(problems));
