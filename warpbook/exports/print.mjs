// One language of the built site as a PDF. `node print.mjs` reads a job from its input, as JSON (warpbook/exports/pdf.py says what
// it holds), writes `out` and prints how many pages it has. The pages' articles become sections of one document: with ids
// and links of their own, without what only a screen can do.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const job = JSON.parse(readFileSync(0, "utf8"));
const { chromium } = createRequire(job.modules + "/")("playwright-core");
const browser = await chromium.launch({ executablePath: job.browser, args: ["--no-sandbox"] });
const page = await browser.newPage({ colorScheme: "light" });
await page.route(/^(?!file:|data:)/, (route) => route.abort());
await page.goto(pathToFileURL(job.frame).href);

const files = job.pages.map(({ address, ...rest }) => ({ address, ...rest, text: readFileSync(`${job.site}/${address}index.html`, "utf8") }));
await page.evaluate(assemble, { files, url: job.url });
await page.evaluate(() => document.fonts.ready);

const paper = { preferCSSPageSize: true, printBackground: true };
const numbers = pageNumbers(await page.pdf({ ...paper, printBackground: false })); // the table of contents is as long without them as with them
await page.evaluate((found) => {
  for (const line of document.querySelectorAll(".wb-contents a"))
    line.querySelector(".wb-contents__page").textContent = found[line.hash.slice(1)] ?? "";
}, numbers);
const made = await page.pdf({ ...paper, outline: true, tagged: true });
writeFileSync(job.out, made);
console.log(JSON.stringify({ pages: pagesOf(made.toString("latin1")).length }));
await browser.close();

// In the browser: fills the empty frame.
function assemble({ files, url }) {
  const slug = (address) => address.replace(/\/$/, "").replaceAll("/", "-") || "home";
  const known = new Map(files.map(({ address }) => [address, slug(address)]));
  const site = "https://site.invalid/"; // where pages are thought to be, so that links can be resolved
  const list = document.querySelector(".wb-contents ol"), styles = [];

  files.forEach(({ address, part, sections, text }, number) => {
    const article = new DOMParser().parseFromString(text, "text/html").querySelector("article");
    const prefix = slug(address);
    for (const gone of article.querySelectorAll(".headerlink, .wb-programs, .wb-moved, .wb-switch, .wb-data, .wb-choice, .wb-cite, .wb-exercise details, .footnote-backref, button, script, noscript, [hidden]")) gone.remove();
    for (const box of article.querySelectorAll("details")) box.open = true;
    for (const box of article.querySelectorAll(".highlight, .wb-output, .wb-lines, table"))
      if ((box.querySelector("pre")?.textContent.split("\n").length ?? box.querySelectorAll("tr").length) <= 24) box.dataset.short = "";

    // Names, blanks and signs have the colour of the code around them: half of all elements need not be.
    for (const word of article.querySelectorAll("code span:is(.w, .n, .p, .o, .nv)")) word.replaceWith(...word.childNodes);
    for (const code of article.querySelectorAll("code")) code.normalize();

    // A control is what it is set to.
    for (const control of article.querySelectorAll(".wb-explore__control")) {
      const field = control.querySelector("select, input");
      if (!control.querySelector("b")) {
        const value = document.createElement("b");
        value.textContent = field.selectedOptions ? (field.querySelector("[selected]") ?? field.options[0]).textContent : field.getAttribute("value");
        control.append(value);
      }
      field.remove();
    }

    // A formula is read as its MathML.
    for (const formula of article.querySelectorAll(".katex")) {
      formula.setAttribute("role", "math");
      formula.setAttribute("aria-label", formula.querySelector(".katex-mathml").textContent.trim());
      formula.querySelector(".katex-mathml").remove();
    }

    for (const link of article.querySelectorAll("a[href]")) {
      const there = new URL(link.getAttribute("href"), site + address);
      const path = there.href.startsWith(site) ? there.pathname.slice(1) : undefined;
      if (/^records\/|\.json$/.test(path ?? "") || link.closest(".wb-lines")) link.replaceWith(...link.childNodes); // what only a screen asks for
      else if (known.has(path)) link.setAttribute("href", `#${known.get(path)}${there.hash ? "--" + decodeURIComponent(there.hash.slice(1)) : ""}`);
      else if (path !== undefined) link.setAttribute("href", url + path + there.hash);
    }
    for (const element of article.querySelectorAll("*")) {
      if (element.id) element.id = `${prefix}--${element.id}`;
      for (const key of ["for", "aria-labelledby", "aria-describedby", "aria-controls", "headers"])
        if (element.hasAttribute(key)) element.setAttribute(key, element.getAttribute(key).split(/\s+/).map((id) => `${prefix}--${id}`).join(" "));
      for (const { name, value } of [...element.attributes])
        if (value.includes("url(#")) element.setAttribute(name, value.replaceAll("url(#", `url(#${prefix}--`));
      if (element.tagName === "use") element.setAttribute("href", element.getAttribute("href").replace("#", `#${prefix}--`));
    }

    const section = document.createElement("section");
    section.className = "wb-page";
    section.id = prefix;
    section.style.page = `wb${number}`;
    section.append(...[...article.childNodes].map((node) => document.importNode(node, true)));
    document.body.append(section);
    const title = section.querySelector("h1").textContent.trim();
    styles.push(`@page wb${number} { @top-right { content: ${JSON.stringify(title)}; } }`);

    const line = (id, text, level) => `<li class="wb-contents__${level}"><a href="#${id}"><span>${text}</span><span class="wb-contents__page"></span></a></li>`;
    if (part) list.insertAdjacentHTML("beforeend", `<li class="wb-contents__part">${part}</li>`);
    const escaped = (element) => element.innerHTML.replace(/<\/?(?:a|span)\b[^>]*>/g, "");
    list.insertAdjacentHTML("beforeend", line(prefix, escaped(section.querySelector("h1")), "title"));
    if (sections) for (const heading of section.querySelectorAll("h2[id]")) list.insertAdjacentHTML("beforeend", line(heading.id, escaped(heading), "section"));
  });
  for (const box of document.querySelectorAll('svg rect[fill^="url(#"]')) if (!box.closest("pattern")) hatch(box);
  styles.push(`html { --wb-book: ${JSON.stringify(document.title)}; --wb-font: ${getComputedStyle(document.body).fontFamily}; }`);

  // A pattern would be printed as a picture as large as the page: its tiles are drawn in a frame that cuts them off.
  function hatch(box) {
    const pattern = document.getElementById(/#([^)]*)/.exec(box.getAttribute("fill"))[1]), size = Number(pattern.getAttribute("width"));
    const { width, height } = box.getBoundingClientRect(), name = "http://www.w3.org/2000/svg";
    const frame = document.createElementNS(name, "svg"), ground = document.createElementNS(name, "rect");
    for (const key of ["x", "y", "width", "height"]) frame.setAttribute(key, box.getAttribute(key));
    frame.setAttribute("class", pattern.getAttribute("class"));
    for (const key of ["width", "height"]) ground.setAttribute(key, "100%");
    frame.style.overflow = "hidden";
    frame.append(ground);
    for (let y = 0; y < height; y += size) for (let x = 0; x < width; x += size) {
      const tile = frame.appendChild(pattern.querySelector("g").cloneNode(true));
      tile.setAttribute("transform", `translate(${x} ${y})`);
    }
    box.replaceWith(frame);
  }

  document.head.append(Object.assign(document.createElement("style"), { textContent: styles.join("\n") }));
}

// Objects of a PDF as Chromium writes it: the tree of pages, and the place that each anchor leads to.
function pagesOf(text) {
  const objects = new Map([...text.matchAll(/(?:^|\n)(\d+) 0 obj\s([\s\S]*?)endobj/g)].map((match) => [match[1], match[2]]));
  const walk = (id) => {
    const kids = /\/Kids\s*\[([^\]]*)\]/.exec(objects.get(id));
    return kids ? [...kids[1].matchAll(/(\d+) 0 R/g)].flatMap((match) => walk(match[1])) : [id];
  };
  return walk(/\/Pages (\d+) 0 R/.exec(text)[1]);
}

function pageNumbers(pdf) {
  const text = pdf.toString("latin1");
  const order = pagesOf(text), found = {};
  for (const [, name, id] of text.matchAll(/\/([^\s/[\]<>()]+)\s*\[\s*(\d+) 0 R\s*\/XYZ/g))
    found[name.replace(/#([0-9A-Fa-f]{2})/g, (_, code) => String.fromCharCode(parseInt(code, 16)))] = order.indexOf(id) + 1;
  return found;
}
