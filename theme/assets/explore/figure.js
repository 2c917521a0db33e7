// A whole figure as text, with its controls: what the build puts into a page.
import { form, parsed, presetOf } from "./controls.js";
import { escaped } from "./draw.js";

export const numbers = (found, said) =>
  Object.entries(found).map(([name, value]) => `<div><dt>${escaped(said.numbers[name])}</dt><dd>${escaped(value)}</dd></div>`).join("");

// `given`: the page's options, as text. Throws an Error that says what is wrong with them.
export function figure(name, { controls, draw, presets = {}, words }, language, given, devices, id) {
  const said = words[language], choices = { device: Object.keys(devices) };
  choices.names = Object.fromEntries(Object.entries(devices).map(([key, device]) => [key, device.name]));
  if (given.preset !== undefined) throw new RangeError('no option "preset"; write its values');
  const state = parsed(controls, given, choices);
  if ("preset" in state) state.preset = presetOf(presets, state);
  const made = draw(state, said, devices, id);
  if (made.wrong) throw new RangeError(made.wrong);
  const data = controls.some((control) => control.name === "device") ? ` data-devices="${escaped(JSON.stringify(devices))}"` : "";
  return `<figure class="wb-explore" id="${id}" data-explore="${name}" data-language="${language}"${data} data-search-exclude>`
    + `<figcaption>${escaped(said.title)}</figcaption>`
    + `<fieldset class="wb-explore__controls" disabled aria-label="${escaped(said.title)}">${form(controls, state, said, choices)}</fieldset>`
    + `<div class="wb-explore__picture">${made.picture}</div>`
    + `<p class="wb-explore__said" role="status">${escaped(made.said)}</p>`
    + `<dl class="wb-explore__numbers">${numbers(made.numbers, said)}</dl></figure>`;
}
