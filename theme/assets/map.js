// The map of the book: what the chosen article needs and leads to is marked, what has been read is ticked, and what can be
// read next is listed. site.js keeps what has been read. Without this the map is a drawing with links.

const map = document.querySelector(".wb-map");
if (map) {
  const { hint, goals, all } = map.dataset;
  const nodes = new Map([...map.querySelectorAll(".wb-map__node")].map((node) => [node.dataset.article, node]));
  const edges = [...map.querySelectorAll(".wb-edge")];
  const before = new Map([...nodes].map(([name, node]) => [name, node.dataset.needs.split(" ").filter(Boolean)]));
  const after = new Map([...nodes.keys()].map((name) => [name, [...nodes.keys()].filter((other) => before.get(other).includes(name))]));
  const about = new Map([...nodes].map(([name, node]) => {
    const title = node.querySelector("title"), [line, ...rest] = title.textContent.split("\n");
    title.remove(); // what it says is shown beside the map, and read out
    if (rest.length) node.setAttribute("aria-description", `${goals} ${rest.join(" ")}`);
    return [name, { line, goals: rest.map((goal) => goal.replace(/^– /, "")) }];
  }));
  const title = (name) => nodes.get(name).dataset.title;

  function reach(graph, name) {
    const found = new Set(), waiting = [...graph.get(name)];
    for (let one; (one = waiting.pop()) !== undefined;)
      if (!found.has(one)) {
        found.add(one);
        waiting.push(...graph.get(one));
      }
    return found;
  }

  const made = (tag, text, ...children) => {
    const element = document.createElement(tag);
    element.textContent = text;
    element.append(...children);
    return element;
  };

  const pane = map.querySelector(".wb-map__chosen");
  function choose(name) {
    const needed = name ? reach(before, name) : new Set(), led = name ? reach(after, name) : new Set();
    const upwards = new Set([...needed, name]), downwards = new Set([...led, name]);
    map.classList.toggle("wb-map--chosen", Boolean(name));
    for (const [other, node] of nodes) {
      node.classList.toggle("wb-map__node--chosen", other === name);
      node.classList.toggle("wb-map__node--before", needed.has(other));
      node.classList.toggle("wb-map__node--after", led.has(other));
    }
    for (const edge of edges) {
      const { from, to } = edge.dataset;
      edge.classList.toggle("wb-map__edge--before", upwards.has(from) && upwards.has(to));
      edge.classList.toggle("wb-map__edge--after", downwards.has(from) && downwards.has(to));
    }
    if (!name) return pane.replaceChildren(made("p", hint));
    const said = about.get(name);
    pane.replaceChildren(
      made("p", "", made("strong", said.line)), made("p", goals), made("ul", "", ...said.goals.map((goal) => made("li", goal))),
    );
  }

  const next = map.querySelector(".wb-map__next"), boxes = [...document.querySelectorAll(".wb-done[data-read] input")];
  function show() {
    const read = new Set(boxes.filter((box) => box.checked).map((box) => box.closest(".wb-done").dataset.read));
    const ready = [...nodes.keys()].filter((name) => !read.has(name) && before.get(name).every((one) => read.has(one)));
    for (const [name, node] of nodes) {
      node.classList.toggle("wb-map__node--read", read.has(name));
      node.classList.toggle("wb-map__node--next", ready.includes(name));
    }
    next.querySelector("ul").replaceChildren(...ready.map((name) => {
      const link = made("a", title(name));
      link.href = nodes.get(name).href.baseVal;
      link.dataset.article = name;
      return made("li", "", link);
    }));
    if (!ready.length) next.querySelector("ul").append(made("li", all));
  }

  // A pointer or the focus chooses; a finger's first tap, too, and its second follows the link.
  const nodeOf = (event) => event.target.closest?.("[data-article]")?.dataset.article;
  let chosen;
  for (const kind of ["pointerover", "focusin"])
    map.addEventListener(kind, (event) => {
      const name = nodeOf(event);
      if (name && event.pointerType !== "touch" && name !== chosen) choose(chosen = name);
    });
  map.addEventListener("click", (event) => {
    const name = event.target.closest?.(".wb-map__node") && nodeOf(event);
    if (!name || event.pointerType !== "touch" || name === chosen) return;
    event.preventDefault();
    choose(chosen = name);
  });
  map.addEventListener("keydown", (event) => { if (event.key === "Escape") choose(chosen = undefined); });

  choose();
  show();
  pane.hidden = next.hidden = false;
  document.addEventListener("change", show);
  for (const event of ["storage", "pageshow"]) addEventListener(event, show); // another page of the book has changed it
}
