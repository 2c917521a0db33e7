// Interactive figures: each brings its own module, and stands as it was drawn at build where there is no script.
import { parsed, presetOf } from "./controls.js";
import { numbers } from "./figure.js";

async function start(figure) {
  const { controls, draw, presets = {}, words } = await import(`./${figure.dataset.explore}.js`);
  const said = words[figure.dataset.language], devices = JSON.parse(figure.dataset.devices ?? "{}");
  const choices = { device: Object.keys(devices) };
  const form = figure.querySelector("fieldset"), part = (name) => figure.querySelector(`.wb-explore__${name}`);
  const given = () => Object.fromEntries(controls.map(({ name }) => [name, form.elements[name].value]));

  function update(event) {
    const { name, value } = event?.target ?? {};
    if (name === "preset") for (const [key, wanted] of Object.entries(presets[value] ?? {})) form.elements[key].value = wanted;
    const state = parsed(controls, given(), choices);
    if (form.elements.preset) form.elements.preset.value = presetOf(presets, state);
    for (const control of controls.filter(({ kind }) => kind === "range"))
      form.elements[control.name].closest("label").querySelector("b").textContent = state[control.name];
    const made = draw(state, said, devices, figure.id);
    form.elements.index?.setAttribute("aria-invalid", String(Boolean(made.wrong)));
    part("said").textContent = made.wrong ?? made.said;
    figure.classList.toggle("wb-explore--wrong", Boolean(made.wrong));
    if (made.wrong) return; // the last drawing stays
    part("picture").innerHTML = made.picture;
    part("numbers").innerHTML = numbers(made.numbers, said);
  }

  form.disabled = false;
  form.addEventListener("input", update);
  update();
}

for (const figure of document.querySelectorAll(".wb-explore")) start(figure);
