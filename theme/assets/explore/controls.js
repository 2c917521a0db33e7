// The controls of a figure, in HTML: labelled, reached by keyboard, and disabled until a script answers to them.
import { escaped } from "./draw.js";

// `controls`: {name, kind: "range" | "choice" | "text", …}; a choice without `values` takes those of `choices[name]`.
export function form(controls, state, words, choices = {}) {
  return controls.map((control) => {
    const { name, kind } = control, value = state[name], label = escaped(words.controls[name]);
    const wide = control.wide ? " wb-explore__control--wide" : "";
    if (kind === "range") {
      const { min, max, step = 1 } = control;
      return `<label class="wb-explore__control${wide}"><span>${label} <b aria-hidden="true">${escaped(value)}</b></span><input type="range" name="${name}" min="${min}" max="${max}" step="${step}" value="${value}"></label>`;
    }
    if (kind === "text")
      return `<label class="wb-explore__control${wide}"><span>${label}</span><input type="text" name="${name}" value="${escaped(value)}" maxlength="80" size="16" spellcheck="false" autocomplete="off" autocapitalize="off"></label>`;
    const options = (control.values ?? choices[name]).map((key) =>
      `<option value="${escaped(key)}"${key === value ? " selected" : ""}>${escaped(words[name]?.[key] ?? choices.names?.[key] ?? key)}</option>`);
    return `<label class="wb-explore__control${wide}"><span>${label}</span><select name="${name}">${options.join("")}</select></label>`;
  }).join("");
}

// A state from text, such as a form's or a page's: numbers within their bounds, choices among theirs.
export function parsed(controls, given, choices = {}) {
  const state = {};
  for (const { name, kind, min, max, step = 1, values = choices[name], value } of controls) {
    const text = given[name] ?? String(value);
    if (kind === "text") state[name] = text;
    else if (kind === "range") {
      state[name] = Number(text);
      if (!(state[name] >= min && state[name] <= max && (state[name] - min) % step === 0))
        throw new RangeError(`${name}=${text} is not a number from ${min} to ${max}${step > 1 ? ` in steps of ${step}` : ""}`);
    } else {
      state[name] = values.find((one) => String(one) === text);
      if (state[name] === undefined) throw new RangeError(`${name}=${text} is none of ${values.join(", ")}`);
    }
  }
  for (const name of Object.keys(given))
    if (!controls.some((control) => control.name === name))
      throw new RangeError(`no option "${name}"; there are: ${controls.map((control) => control.name).filter((one) => one !== "preset").join(", ")}`);
  return state;
}

// The preset that the state is, if any: the last one whose every value is the state's.
export const presetOf = (presets, state) =>
  Object.keys(presets).find((key) => Object.entries(presets[key]).every(([name, value]) => state[name] === value)) ?? "own";
