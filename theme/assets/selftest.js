// A track's self-test: makes a form of each question (warpbook/exercises/selftests.py), whose solution stays folded below it. What a
// reader answered is kept in this browser, for both languages: the letters in the order in which they were tried, the first of which counts.
{
const [CHECK, CHOOSE, AGAIN, SCORE] = document.documentElement.lang.startsWith("zh")
  ? ["检查", "请先选一个答案。", "清空重做", (answered, all, right) => `${all} 题已答 ${answered} 题，一次答对 ${right} 题。`]
  : ["Check", "Choose an answer first.", "Start again", (answered, all, right) => `${answered} of ${all} answered, ${right} right at the first try.`];

const make = (tag, about, ...children) => {
  const element = Object.assign(document.createElement(tag), about);
  element.append(...children);
  return element;
};
const copies = (element) => [...element.cloneNode(true).childNodes];

// Where a reader allows no storage, the answers last as long as the page.
const kept = new Map();
const tries = (id) => { try { return localStorage.getItem(`warpbook.${id}`) ?? ""; } catch { return kept.get(id) ?? ""; } };
const keep = (id, letters) => {
  kept.set(id, letters);
  try {
    if (letters) localStorage.setItem(`warpbook.${id}`, letters);
    else localStorage.removeItem(`warpbook.${id}`);
  } catch { /* private window */ }
};

const question = (box) => {
  const [asked, list, solution] = box.children, id = box.id;
  const letter = (item) => item.querySelector("strong").textContent;
  const reasons = new Map([...solution.querySelectorAll("li")].map((item) => [letter(item), item])), [right] = reasons.keys();
  const choices = new Map([...list.children].map((item) => [letter(item), make("label", {}, make("input", { type: "radio", name: id, value: letter(item), autocomplete: "off" }), make("span", {}, ...item.childNodes))]));
  const said = make("div", { className: "wb-question__said" });
  said.setAttribute("role", "status");
  const form = make("form", { noValidate: true },
    make("fieldset", {}, make("legend", {}, ...asked.childNodes), ...choices.values()), make("button", { type: "submit", textContent: CHECK }), said);

  let shown;
  const show = () => {
    const tried = tries(id), last = tried.at(-1);
    if (tried === shown) return; // what a screen reader has said is not said again
    shown = tried;
    for (const [one, label] of choices) {
      label.className = tried.includes(one) ? (one === right ? "wb-right" : "wb-wrong") : "";
      label.firstChild.checked = one === last;
    }
    said.className = `wb-question__said ${last ? (last === right ? "wb-right" : "wb-wrong") : ""}`;
    said.replaceChildren(...(last ? [make("p", {}, ...copies(reasons.get(last))), make("p", {}, ...copies(solution.lastElementChild))] : []));
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = form.querySelector(":checked")?.value;
    if (!chosen) return said.replaceChildren(CHOOSE);
    const [first = "", ...others] = tries(id);
    keep(id, [first, ...others.filter((one) => one !== chosen), chosen].join(""));
    showAll();
  });
  show();
  asked.replaceWith(form);
  list.remove();
  return { id, right, show };
};

const test = document.querySelector(".wb-selftest"), questions = [...test.children].map(question);
const score = make("p", {}), again = make("button", { type: "button", textContent: AGAIN });
score.setAttribute("role", "status");

const showAll = () => {
  for (const one of questions) one.show();
  const first = questions.map((one) => [tries(one.id)[0], one.right]).filter(([tried]) => tried);
  const said = SCORE(first.length, questions.length, first.filter(([tried, right]) => tried === right).length);
  if (score.textContent !== said) score.textContent = said;
};

again.addEventListener("click", () => {
  for (const { id } of questions) keep(id, "");
  showAll();
});
showAll();
test.append(make("div", { className: "wb-selftest__score" }, score, again));
for (const event of ["storage", "pageshow"]) addEventListener(event, showAll); // another page of the book has changed it
}
