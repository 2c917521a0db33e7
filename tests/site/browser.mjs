// Chromium for all tests of a run: `node browser.mjs NODE_MODULES CHROMIUM`. A line of its input asks for a look, JSON {script,
// given, seconds}: a script of this folder, what to call it with, how long it may take. A line of its output answers: {problems},
// a list of {page, scheme, what}, or {failed}, after which it ends, for what still runs would talk into the next answer.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [modules, executablePath] = process.argv.slice(2);
const require = createRequire(modules + "/");
const { chromium } = require("playwright-core");
const running = [], keeping = [];

const tools = {
  axe: readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"),
  // Scripts that look at two pages at once take a browser for each: with two pages in one, it may stop drawing either.
  browser: async (i = 0) => running[i] ??= await chromium.launch({ executablePath, args: ["--no-sandbox"] }),
  // The context of browser i that is there for all looks: with what it has in its cache.
  kept: async (i, options) => keeping[i] ??= await (await tools.browser(i)).newContext(options),
};

const contexts = () => running.flatMap((browser) => browser.contexts());
const answer = (said) => new Promise((done) => process.stdout.write(JSON.stringify(said) + "\n", done));

async function fail(what) {
  const open = contexts().flatMap((context) => context.pages()).map((page) => page.url());
  await answer({ failed: `${what}\nopen: ${open.join(", ") || "no page"}` });
  process.exit(1);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { script, given, seconds } = JSON.parse(line);
  const late = setTimeout(() => fail(`${script} was not done within ${seconds} s`), 1000 * seconds);
  try {
    const look = (await import(`./${script}`)).default;
    const problems = await look(tools, ...given);
    await Promise.all(contexts().filter((context) => !keeping.includes(context)).map((context) => context.close()));
    clearTimeout(late);
    await answer({ problems });
  } catch (error) {
    await fail(`${script}: ${error.stack}`);
  }
}
await Promise.all(running.map((browser) => browser.close()));
